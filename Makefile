# assay - the front door. CMake does the work; presets name the builds (release, debug, asan, tsan, fuzz).
#   make demo         install what is missing, build, run ResNet-50 and show where its time and memory go
#   make check        install what is missing, build and run every test that fits into CI
#   make check-more   what is too slow or too large for that: the other instruction sets
#   make torture      makes every call to the system, every allocation fail once; recorders that want one path
MAKEFLAGS += --no-print-directory
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 600

.PHONY: all build demo check check-more torture bench lint fuzz format install clean setup

all: build

setup:
	@tools/setup

build: setup
	@cmake --preset release >/dev/null
	@cmake --build --preset release

demo: build
	@build/assay profile zoo:resnet50

check:
	@tools/setup check
	@tools/check

check-more:
	@tools/setup check
	@tools/check-more

torture:
	@tools/setup check
	@tools/torture

bench: build
	@tools/setup bench
	@bench/run build

lint: setup
	@tools/lint

fuzz: setup
	@tools/fuzz $(FUZZ_SECONDS)

format:
	@git ls-files '*.c' '*.h' '*.cpp' | xargs clang-format -i

install: build
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"

clean:
	rm -rf build build-debug build-asan build-tsan build-fuzz
