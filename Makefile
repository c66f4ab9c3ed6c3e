# A thin front door over the CMake presets: each target fetches what it lacks (tools/setup) and calls CMake.

CMAKE := .deps/venv/bin/cmake
CTEST := .deps/venv/bin/ctest
PYTHON := .deps/venv/bin/python
JOBS ?= $(shell nproc)

.PHONY: help build test example wheel site dev demo bench lint format asan fuzz clean
.DEFAULT_GOAL := help

help:
	@echo 'make build    the command, at build/thaw'
	@echo 'make test     build, then every test'
	@echo 'make example  build, then write the models of the guide to example/'
	@echo 'make wheel    the Python package onnx-thaw, dist/onnx_thaw-*.whl'
	@echo 'make site     these pages as a site, build/site/html'
	@echo 'make demo     the main job on real models and a real photograph'
	@echo 'make bench    figures against the peers, in one run'
	@echo 'make lint     order of modules, words, sentences, ruff, clang-format, clang-tidy'
	@echo '             CHANGED=1: clang-tidy over what changed alone'
	@echo 'make format   clang-format, applied'
	@echo 'make asan     the unit tests under AddressSanitizer and UndefinedBehaviorSanitizer'
	@echo 'make fuzz     each fuzz target for FUZZ_SECONDS (60)'
	@echo 'make dev      every test with assertions and line numbers, each source compiled alone'
	@echo 'make clean    removes the build folders, keeps .deps'

build:
	@tools/setup build
	$(CMAKE) --preset release -DTHAW_BUILD_TESTS=OFF >/dev/null
	$(CMAKE) --build --preset release -j $(JOBS)

test:
	@tools/setup test
	$(CMAKE) --preset release -DTHAW_BUILD_TESTS=ON -DTHAW_BUILD_PYTHON=ON -DPython_EXECUTABLE=$(abspath $(PYTHON))
	$(CMAKE) --build --preset release -j $(JOBS)
	$(CTEST) --preset release -j $(JOBS)

example: build
	@tools/setup demo
	$(PYTHON) tools/example.py example

wheel:
	@tools/setup python
	$(CMAKE) --preset release -DTHAW_BUILD_PYTHON=ON -DPython_EXECUTABLE=$(abspath $(PYTHON)) >/dev/null
	tools/wheel

site:
	@tools/setup site
	$(CMAKE) --preset release -DTHAW_BUILD_PYTHON=ON -DPython_EXECUTABLE=$(abspath $(PYTHON)) >/dev/null
	$(CMAKE) --build --preset release -j $(JOBS) --target _thaw_stub thaw_worker
	$(PYTHON) tools/make_site.py --run

dev:
	@tools/setup test
	$(CMAKE) --preset dev >/dev/null
	$(CMAKE) --build --preset dev -j $(JOBS)
	$(CTEST) --preset dev -j $(JOBS)

demo:
	@tools/setup demo
	@$(MAKE) --no-print-directory build
	$(PYTHON) tools/demo.py --thaw build/thaw

bench: build
	@tools/setup bench
	$(CMAKE) --preset bench >/dev/null
	$(CMAKE) --build --preset bench -j $(JOBS)
	$(PYTHON) bench/run.py --thaw build/thaw --programs build-bench/bench

lint:
	@tools/setup lint
	@tools/lint $(if $(CHANGED),--changed)

format:
	@tools/setup lint
	git ls-files '*.h' '*.cc' | xargs -r clang-format-19 -i

asan:
	@tools/setup test
	$(CMAKE) --preset asan >/dev/null
	$(CMAKE) --build --preset asan -j $(JOBS)
	$(CTEST) --preset asan -j $(JOBS)

fuzz:
	@tools/fuzz

clean:
	rm -rf build build-*
