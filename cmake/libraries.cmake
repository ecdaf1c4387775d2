# The libraries that are installed: assay-trace (the recorder), assay (everything but experiments) and assay-experiment, each
# as archive and as shared library.
#
# An archive holds one object, whose only global names are those of the headers: a program may have an as_free() of its own.
# With sanitizers, whose archives nobody installs, it holds the objects as they are.

# The functions of the experiment headers, one a line; `assay_*` does not tell them from the others.
file(GLOB experiment_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/assay/experiment/*.h)
set(experiment_names)
foreach(header ${experiment_headers})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
    file(READ ${header} text)
    string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" "" text "${text}")
    string(REGEX MATCHALL "ASSAY_API[^;(]*[ *\n]assay_[a-z0-9_]+\\(" found "${text}")
    foreach(declaration ${found})
        string(REGEX REPLACE ".*[ *\n](assay_[a-z0-9_]+)\\($" "\\1" name "${declaration}")
        list(APPEND experiment_names ${name})
    endforeach()
endforeach()
list(SORT experiment_names)
list(JOIN experiment_names "\n" names_text)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/experiment.names CONTENT "${names_text}\n" @ONLY)
list(JOIN experiment_names "; " names_text)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/experiment.map CONTENT
    "ASSAY_${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} { global: ${names_text}; local: *; };\n" @ONLY)

# assay_joined(OUT NAME KEEP... PARTS...): OUT becomes the one object NAME.o, joined by the linker from PARTS, in which the
# names that KEEP tells objcopy of stay global.
function(assay_joined out name)
    cmake_parse_arguments(JOIN "" "" "KEEP;PARTS;DEPENDS" ${ARGN})
    set(object ${CMAKE_BINARY_DIR}/joined/${name}.o)
    add_custom_command(OUTPUT ${object}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/joined
        COMMAND ${CMAKE_LINKER} -r -o ${object} ${JOIN_PARTS}
        COMMAND ${CMAKE_OBJCOPY} -w ${JOIN_KEEP} ${object}
        DEPENDS ${JOIN_DEPENDS} COMMAND_EXPAND_LISTS VERBATIM)
    set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    set(${out} ${object} PARENT_SCOPE)
endfunction()

function(assay_library name)
    cmake_parse_arguments(LIB "" "MAP" "ARCHIVE;SHARED;NEEDS" ${ARGN})
    add_library(${name}-static STATIC ${LIB_ARCHIVE})
    add_library(${name}-shared SHARED ${LIB_SHARED})
    foreach(kind static shared)
        set_target_properties(${name}-${kind} PROPERTIES OUTPUT_NAME ${name} EXPORT_NAME ${name}-${kind} LINKER_LANGUAGE C)
        target_include_directories(${name}-${kind} PUBLIC
            $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
        target_link_libraries(${name}-${kind} ${LIB_NEEDS})
    endforeach()
    set_target_properties(${name}-shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
    # Its thread, its keys and its fork handlers point into it: it stays when a plugin that brought it is unloaded.
    target_link_options(${name}-shared PRIVATE -Wl,-z,nodelete -Wl,--version-script=${LIB_MAP})
    set_target_properties(${name}-shared PROPERTIES LINK_DEPENDS ${LIB_MAP})
endfunction()

set(exports ${PROJECT_SOURCE_DIR}/cmake/exports.map)
set(trace_parts $<TARGET_OBJECTS:trace_objects>)
set(assay_parts $<TARGET_OBJECTS:trace_objects> $<TARGET_OBJECTS:rest_objects>)
set(experiment_parts $<TARGET_OBJECTS:experiment_objects>)
if(NOT ASSAY_SANITIZE)
    assay_joined(trace_archive assay-trace KEEP --keep-global-symbol=assay_* PARTS ${trace_parts} DEPENDS ${trace_parts})
    assay_joined(assay_archive assay KEEP --keep-global-symbol=assay_* PARTS ${assay_parts} DEPENDS ${assay_parts})
    # Experiments have copies of the internal functions they use, and no others. The account of memory is that of libassay.
    add_library(experiment_source STATIC ${experiment_parts} ${trace_parts}
        $<FILTER:$<TARGET_OBJECTS:rest_objects>,EXCLUDE,/process/memory_counts\\.c>)
    set_target_properties(experiment_source PROPERTIES LINKER_LANGUAGE C)
    list(TRANSFORM experiment_names PREPEND --undefined= OUTPUT_VARIABLE wanted)
    assay_joined(experiment_archive assay-experiment KEEP --keep-global-symbols=${CMAKE_BINARY_DIR}/experiment.names
        PARTS ${wanted} $<TARGET_FILE:experiment_source> DEPENDS experiment_source ${CMAKE_BINARY_DIR}/experiment.names)
else()
    set(trace_archive ${trace_parts})
    set(assay_archive ${assay_parts})
    set(experiment_archive ${experiment_parts})
endif()

assay_library(assay-trace MAP ${exports} ARCHIVE ${trace_archive} SHARED ${trace_parts} NEEDS PUBLIC Threads::Threads)
assay_library(assay MAP ${exports} ARCHIVE ${assay_archive} SHARED ${assay_parts}
    NEEDS PUBLIC Threads::Threads PRIVATE OpenSSL::Crypto hwloc m)
if(NOT ASSAY_SANITIZE)
    assay_library(assay-experiment MAP ${CMAKE_BINARY_DIR}/experiment.map ARCHIVE ${experiment_archive}
        SHARED ${experiment_archive} NEEDS PUBLIC Threads::Threads PRIVATE OpenSSL::Crypto hwloc m)
    target_link_libraries(assay-experiment-shared PUBLIC assay-shared)
    target_link_libraries(assay-experiment-static PUBLIC assay-static)
else()
    add_library(assay-experiment-static STATIC ${experiment_archive})
    set_target_properties(assay-experiment-static PROPERTIES OUTPUT_NAME assay-experiment LINKER_LANGUAGE C)
    target_link_libraries(assay-experiment-static PUBLIC assay-static)
endif()
