# What `make install` puts where: program, libraries, headers, package files, manual and completions.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/assay)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/assay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
set(installed assay-trace-static assay-trace-shared assay-static assay-shared)
if(TARGET assay-experiment-shared)
    list(APPEND installed assay-experiment-static assay-experiment-shared)
endif()
install(TARGETS ${installed} EXPORT assayTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET assay-preload) # found by `assay run` from where it stands itself
    install(TARGETS assay-preload LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/assay)
endif()
install(EXPORT assayTargets NAMESPACE assay:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/assayConfig.cmake.in ${CMAKE_BINARY_DIR}/assayConfig.cmake
    INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/assayConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/assayConfig.cmake ${CMAKE_BINARY_DIR}/assayConfigVersion.cmake DESTINATION ${package_dir})

# Relative, so that the tree can be moved.
file(RELATIVE_PATH pc_prefix /x/${CMAKE_INSTALL_LIBDIR}/pkgconfig /x)
foreach(name assay-trace assay assay-experiment)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# Section 3 of the manual, printed from the headers.
set(man3 ${CMAKE_BINARY_DIR}/man3)
file(GLOB_RECURSE public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/*.h)
add_custom_command(OUTPUT ${man3}/assay-library.3
    COMMAND python3 ${PROJECT_SOURCE_DIR}/tools/print-man3 ${PROJECT_SOURCE_DIR}/include ${man3} ${PROJECT_VERSION}
    DEPENDS ${public_headers} ${PROJECT_SOURCE_DIR}/tools/print-man3 VERBATIM)
add_custom_target(assay-man3 ALL DEPENDS ${man3}/assay-library.3)
install(DIRECTORY ${man3} DESTINATION ${CMAKE_INSTALL_MANDIR})

if(TARGET assay)
    install(TARGETS assay RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    # Printed by the program itself, so that they cannot disagree with it.
    set(shown ${CMAKE_BINARY_DIR}/share)
    add_custom_command(OUTPUT ${shown}/done
        COMMAND ${CMAKE_CURRENT_LIST_DIR}/../tools/print-docs $<TARGET_FILE:assay> ${shown}
        COMMAND ${CMAKE_COMMAND} -E touch ${shown}/done
        DEPENDS assay ${CMAKE_CURRENT_LIST_DIR}/../tools/print-docs VERBATIM)
    add_custom_target(assay-docs ALL DEPENDS ${shown}/done)
    install(DIRECTORY ${shown}/man ${shown}/bash-completion ${shown}/zsh ${shown}/fish DESTINATION ${CMAKE_INSTALL_DATADIR})
endif()
