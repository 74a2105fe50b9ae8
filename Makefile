# make demo    a real human, before and after: build/demo/before_after.jpg, and the methods side by
#              side: build/demo/comparison.png
# make demo-by-example   a filmstrip of an arm with and without example poses, beside it
# make demo-exports   glTF files of a human, as it is and after Bake to Bones, beside it, and a page that
#              plays both in a browser, which needs Node: build/demo/exports.html
# make demo-methods   the guide's picture of each method: docs/method_*.jpg
# make demo-softened   the picture of soft weights: docs/softened.jpg
# make demo-twisted   the picture of spread twists: docs/spread_twist.jpg
# make demo-solved   the picture of solved folds: docs/solved.jpg
# make demo-motion   the animation of the README: docs/motion.webp
# make demo-clothes   the picture of Weights from Body: docs/clothes.jpg
# make demo-dressed   the picture of a dressed human: docs/dressed.jpg; build/demo/dressed.blend
# make demo-crowd   a crowd of fifty, baked and rendered by Cycles: build/demo/crowd.jpg
# make test    before a commit: lint, types, all tests on Blender 5.2, on 4.5 and 4.2 those that
#              depend on the version, the installed zip; about 7 minutes on two cores
# make test-all    all tests on all three, and the demo
# make release    the zip, tested, and the text and pictures of its listing: build/release
# make soak    what users do, 2000 times at random on each Blender; SOAK="--seed 2 --runs 5", "--fuzz 100", "--characters 50", "--frames 10000"
# make test-engines   OpenUSD, three.js and Babylon.js play what Blender exports, validators check it,
#              libigl and files of Maya check the skinning; needs Node
# make test-card   the tests of the GPU passes on the graphics card that is there, without a window
# make test-gui   BLENDER=/path/to/blender: a user's work in its window, clicked and judged by
#              pictures; GUI="--backend vulkan --only enable paint" for less
# make quality    how good each method is, beside Blender's and published ones: build/quality/quality.md
# make benchmark   how fast everything is, as ratios within one run
# make benchmark-card   the GPU passes on the graphics card that is there, without a window;
#              CARD="--scale 0.02" for less, where the card is emulated
# make benchmark-farm   what a file costs a worker of a farm, and what many files cost
# make build   dist/dq_compensation-<version>.zip, built and validated by Blender's own command
#
# Each makes the environments that it needs at the first run: Python 3.13 and 3.11 must be there,
# bpy comes from PyPI. `make lint`, `make types`, `make test-5.2`, `make test-4.5` and `make test-4.2`
# run one part alone, all of it.

PYTHON ?= python3
SETUP := $(PYTHON) scripts/setup_environments.py
PYTHON_5_2 := .venv-5.2/bin/python

.DEFAULT_GOAL := help
# npm writes this file last.
ENGINES := tests/engines/node_modules/.package-lock.json

# Of tests/gpu, those that draw nothing.
ON_CARD := skinning measured_compensation twist_limbs solved_shapes normals playback softness example_poses \
	shape_keys_of_takes bendy_bones

.PHONY: help demo demo-by-example demo-exports demo-methods demo-softened demo-twisted demo-solved demo-motion demo-clothes demo-dressed demo-crowd test test-all test-engines test-card soak test-gui release quality benchmark benchmark-card benchmark-farm build setup lint format types
.PHONY: test-5.2 test-4.5 test-4.2 clean

help:
	@sed -n 's/^# \{0,1\}//p' Makefile

demo:
	@$(SETUP) 5.2
	@$(PYTHON_5_2) scripts/run.py demos.human
	@$(PYTHON_5_2) scripts/run.py demos.before_after

demo-by-example:
	@$(SETUP) 5.2
	@$(PYTHON_5_2) scripts/run.py demos.by_example

demo-exports:
	@$(SETUP) 5.2
	@$(PYTHON_5_2) scripts/run.py demos.exports
	@$(MAKE) --no-print-directory $(ENGINES)
	@NODE_PATH=tests/engines/node_modules tests/engines/node_modules/.bin/esbuild scripts/demos/exports.js \
		--bundle --minify --loader:.glb=binary --outfile=build/demo/exports.js --log-level=error
	@cp scripts/demos/exports.html build/demo/
	@echo "To open in a browser: build/demo/exports.html"

demo-methods:
	@$(SETUP) 5.2
	@$(PYTHON_5_2) scripts/run.py demos.methods

demo-softened:
	@$(SETUP) 5.2
	@$(PYTHON_5_2) scripts/run.py demos.softened

demo-twisted:
	@$(SETUP) 5.2
	@$(PYTHON_5_2) scripts/run.py demos.twisted

demo-solved:
	@$(SETUP) 5.2
	@$(PYTHON_5_2) scripts/run.py demos.solved

demo-motion:
	@$(SETUP) 5.2
	@$(PYTHON_5_2) scripts/run.py demos.motion

demo-clothes:
	@$(SETUP) 5.2
	@$(PYTHON_5_2) scripts/run.py demos.clothes

demo-dressed:
	@$(SETUP) 5.2
	@$(PYTHON_5_2) scripts/run.py demos.dressed

demo-crowd:
	@$(SETUP) 5.2
	@$(PYTHON_5_2) scripts/run.py demos.crowd

test:
	@$(PYTHON) scripts/run_tests.py

test-all:
	@$(PYTHON) scripts/run_tests.py --all

test-engines: $(ENGINES)
	@$(SETUP)
	@failed=0; for version in 5.2 4.5 4.2; do \
		.venv-$$version/bin/python scripts/run_pytest.py -q tests/engines || failed=1; \
	done; exit $$failed

$(ENGINES): tests/engines/package-lock.json
	@command -v npm >/dev/null || { echo "This needs Node 20 or newer, with npm: https://nodejs.org"; exit 1; }
	@npm ci --prefix tests/engines --ignore-scripts --no-audit --no-fund
	@touch $@

test-card:
	@$(SETUP) 5.2
	@$(PYTHON_5_2) scripts/run_on_card.py -q $(addprefix tests/gpu/test_,$(addsuffix .py,$(ON_CARD)))

soak:
	@$(SETUP)
	@failed=0; for version in 5.2 4.5 4.2; do \
		.venv-$$version/bin/python scripts/soak.py $(SOAK) || failed=1; \
	done; exit $$failed

test-gui:
	@$(SETUP) 5.2
	@$(PYTHON_5_2) tests/gui/run.py $(GUI)

release:
	@$(SETUP)
	@$(PYTHON_5_2) scripts/release.py

quality:
	@$(SETUP) 5.2
	@$(PYTHON_5_2) scripts/run.py quality.report_all; found=$$?; \
		$(PYTHON_5_2) scripts/run.py quality.bakes && exit $$found

benchmark:
	@$(PYTHON) scripts/benchmark.py

benchmark-card:
	@$(SETUP) 5.2
	@$(PYTHON_5_2) scripts/run.py card.measure $(CARD)

benchmark-farm:
	@$(SETUP) 5.2
	@$(PYTHON_5_2) scripts/run.py benchmarks.farm

build:
	@$(SETUP) 5.2
	@$(PYTHON_5_2) scripts/build.py

setup:
	@$(SETUP)

lint types test-5.2 test-4.5 test-4.2:
	@$(PYTHON) scripts/run_tests.py --all $@

format:
	@$(SETUP) tools
	@.venv-tools/bin/ruff check --fix .
	@.venv-tools/bin/ruff format .

clean:
	rm -rf build dist tests/engines/node_modules .venv-tools .venv-5.2 .venv-4.5 .venv-4.2 .venv-engines
