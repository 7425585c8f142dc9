# What people type. Everything is in Cargo and scripts/; this file only gives it short names.
#
# `make demo` and `make test` need nothing before them but git and make: scripts/bootstrap installs
# what is missing on Debian 12, and says what it does.

CARGO ?= cargo
PREFIX ?= /usr/local
DEMO_REPORT ?= sweetspot-demo.md
DEMO_PAGE ?= sweetspot-demo.html
FUZZ_S ?= 60

# Where rustup puts Rust; last, so that it is used only when there is no other.
export PATH := $(PATH):$(HOME)/.cargo/bin

# Where rust-toolchain.toml's Rust is neither there nor can be fetched, the machine's own does.
ifneq ($(shell PATH="$$PATH:$$HOME/.cargo/bin" $(CARGO) --version 2>/dev/null | cut -d ' ' -f 1),cargo)
export RUSTUP_TOOLCHAIN := stable
endif

# A first build has nothing to go on with: what rustc keeps for the next one would cost it an eighth.
built := $(or $(CARGO_TARGET_DIR),target)
ifeq ($(wildcard $(built)/debug/incremental),)
test: export CARGO_INCREMENTAL = 0
endif

binary := target/release/sweetspot
say := @printf '\n== %s\n'

.PHONY: build ui record demo test test-long test-remote test-modern test-others test-ecs test-k8s test-arm64 test-vm test-readers lint audit sbom package book fuzz bench-tune bench-search bench-zoo bench-sensitivity bench-page bench-load bench-fleet bench-pods bench-monitor bench-model bench-advise bench-observe bench-simulator bench-diagnosis bench-holds bench-aa bench-proxies bench-upgrade bench-procedure bench-revisions bench-verdicts bench-labs install clean help

build: ## build target/release/sweetspot
	@scripts/bootstrap build
	@scripts/build-ui
	$(say) 'building (for the first time: about 4 minutes on 2 cores)'
	$(CARGO) build --release --locked

ui: ## build the page of HTML reports into ui/dist (needs Node.js 18 or later)
	@scripts/build-ui required

demo: ## tune the app in demo/ on this machine: the decision here, the report in sweetspot-demo.html
	@scripts/bootstrap demo
	@scripts/build-ui
	$(say) 'building (for the first time: about 4 minutes on 2 cores)'
	$(CARGO) build --release --locked
	$(say) 'tuning demo/, at most 4 minutes (Ctrl-C once: the answer so far)'
	@$(binary) tune --app demo --workers 1..4 --threads 1,2,4,8 --budget 3m30s --yes \
		-o markdown=$(DEMO_REPORT) -o html=$(DEMO_PAGE)
	$(say) 'the report is $(DEMO_PAGE) (and $(DEMO_REPORT)); now try it on your own app: see README.md, "Use it"'

test: ## build and run every test
	@scripts/bootstrap test
	@scripts/build-ui required
	$(say) 'building the program and its tests'
	@# What "cargo build" makes would be made again: tests have other features of some crates.
	$(CARGO) test --locked --no-run --lib --test it
	$(say) 'running the tests'
	@CARGO="$(CARGO)" scripts/run-tests

record: ## record a real session of the demo app for the page's tests (2 minutes)
	@scripts/bootstrap test
	$(say) 'building, then measuring'
	$(CARGO) build --release --locked
	@scripts/record-session

test-vm: ## the monitor, limits and a tune on version 2 of control groups, in a virtual machine
	@scripts/test-vm

test-long: ## what make test leaves out: all published experiments, a knob on a real app, and an ECS service twice for ten minutes (25 minutes)
	@scripts/bootstrap test
	SWEETSPOT_LONG=1 RUST_TEST_THREADS=2 $(CARGO) test --locked --test it -- lab:: knobs:: revisions:: remote::ecs::what_cloudwatch

test-remote: ## over a real ssh, of a Puma in a network namespace: a tune, after a kill, and the load from there (2 minutes, as root)
	@scripts/bootstrap test-remote
	$(CARGO) build --release --locked
	@scripts/test-remote target/release/sweetspot

test-modern: ## the servers' tests with today's Puma, Ruby, Rails and others, on Debian unstable (root; 7 minutes)
	@scripts/test-modern

test-others: ## start and tune servers known by their command alone: granian, hypercorn, uWSGI, Bun, Deno, Passenger, Spring Boot (9 minutes)
	@scripts/test-others

test-ecs: ## what tune --ecs and observe --cloudwatch ask of AWS, asked of moto's server by AWS's own command line (Python; 3 minutes)
	@scripts/bootstrap readers
	$(CARGO) build --release --locked
	@scripts/test-ecs target/release/sweetspot

test-k8s: ## what needs a cluster, on a real Kubernetes made here for it: a control plane and two nodes (root, Go; 40 minutes)
	@scripts/test-k8s

test-arm64: ## the program for arm64, built here and tried under QEMU's user mode (rustup; 15 minutes)
	@scripts/test-arm64

test-readers: ## have HdrHistogram's Python package and vegeta read our output files
	@scripts/bootstrap readers
	$(say) 'installing readers into target/readers, and running the tests that use them'
	@scripts/test-readers

lint: ## check formatting, clippy's warnings and the documentation's links
	@scripts/bootstrap lint
	$(say) 'checking the formatting'
	$(CARGO) fmt --check
	$(say) 'clippy'
	$(CARGO) clippy --locked --all-targets --features kubernetes -- -D warnings
	$(say) "the documentation's links"
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --locked --no-deps --features kubernetes --quiet

audit: ## hold dependencies against deny.toml: licences, sources, known advisories (needs cargo-deny)
	@scripts/audit

sbom: ## what a build contains, as CycloneDX, in target/sweetspot.cdx.json (needs cargo-cyclonedx)
	@scripts/sbom

package: ## what a release consists of, in target/packages: archive, .deb, image, gems, crate (6 minutes)
	@scripts/bootstrap package
	@scripts/package

book: ## the documentation as a book, in target/book (needs mdbook)
	@command -v mdbook >/dev/null || { \
		printf 'book: mdbook is missing. To mend it:\n\n    cargo install mdbook --locked\n\n' >&2; exit 1; }
	mdbook build docs

fuzz: ## feed bad input to whatever reads input, FUZZ_S seconds (60) each; needs nightly Rust
	@scripts/fuzz '$(FUZZ_S)'

bench-tune: ## tune on real servers beside whole grids of capacities, about 3.5 hours (CONTRIBUTING.md)
	@scripts/bootstrap demo
	$(say) 'building, then measuring; rows go to target/bench-tune/rows.csv, where a cut run goes on'
	$(CARGO) bench --locked --bench bench -- tune

bench-search: ## how good the search's answers are on simulated apps whose capacities are known
	@scripts/bootstrap build
	$(CARGO) bench --locked --bench bench -- search

bench-zoo: ## the search's answers on a zoo of servers that it was not made for (about an hour)
	@scripts/bootstrap build
	$(CARGO) bench --locked --bench bench -- zoo

bench-proxies: ## what nginx, thruster and kamal-proxy in front of an app change and cost, where they are (18 minutes)
	@scripts/bootstrap demo
	$(CARGO) build --release --locked
	@scripts/bench-proxies $(binary)

bench-upgrade: ## what Puma's versions hold, and their latencies at equal rates: here, and in each root folder that test-modern made (7 minutes each)
	@scripts/bootstrap demo
	$(CARGO) build --release --locked
	@scripts/bench-upgrade $(binary)
	@for release in trixie sid; do \
	    RELEASE=$$release scripts/in-modern scripts/bench-upgrade $(binary) | tail -n +3 || :; \
	done

bench-procedure: ## the published article's procedure on the tests' ECS and over a real ssh, and kills put back: BUDGET (12m), KILLS (3); root, half an hour
	@scripts/bootstrap test-remote
	$(CARGO) build --release --locked
	@scripts/bench-procedure $(binary) $(or $(BUDGET),12m) $(or $(KILLS),3)

bench-revisions: ## two revisions of an app, equal and 5 % apart: how often is it told right? (10 hours; KIND, EQUAL, SLOWER)
	@scripts/bootstrap demo
	$(CARGO) build --release --locked
	@scripts/bench-revisions $(binary)

bench-verdicts: ## how often `compare --revisions` says what of simulated pairs: the tables of docs/compare.md (10 seconds)
	@scripts/bootstrap build
	$(CARGO) bench --locked --bench bench -- verdicts

bench-sensitivity: ## what halving and doubling each of the search's figures does, CONSTANTS='NAME...' or all (10 hours)
	@scripts/bootstrap build
	$(CARGO) bench --locked --bench bench -- sensitivity

bench-page: ## how large a long session's page is, and how soon it is there in a browser (1 minute)
	@scripts/bootstrap test
	@scripts/build-ui required
	$(CARGO) bench --locked --bench bench -- page

bench-load: ## `load` beside wrk, ab and others, about 20 minutes of an idle machine (CONTRIBUTING.md)
	@scripts/bootstrap bench-load
	$(say) 'building, then measuring; rows go to target/bench-load/rows.csv, where a cut run goes on'
	$(CARGO) bench --locked --bench bench -- load

bench-fleet: ## what a collector costs with 10, 100 and 1,000 generators that only tell (3 minutes)
	@scripts/bootstrap build
	$(CARGO) bench --locked --bench bench -- fleet

bench-pods: ## how an app is best cut into pods of a cluster made here for it, and measured again: ROUNDS (1) of two sessions of BUDGET (10m); root, Go
	@scripts/bootstrap test-k8s
	@scripts/kubernetes-testbed build
	$(CARGO) build --release --locked --features kubernetes
	@scripts/kubernetes-testbed image sweetspot.test/sweetspot:1 $(binary)
	@scripts/kubernetes-testbed shop
	@trap 'scripts/kubernetes-testbed down' EXIT; trap 'exit 130' INT TERM; \
		scripts/kubernetes-testbed up 2 && \
		scripts/bench-pods $(binary) sweetspot.test/sweetspot:1 $(or $(ROUNDS),1) $(or $(BUDGET),10m)

bench-monitor: ## what watching 64 processes costs, beside dstat and pidstat, about 10 minutes
	@scripts/bootstrap bench-monitor
	$(CARGO) bench --locked --bench bench -- monitor

bench-model: ## are predictions right? Five grids on Puma, four cells of each fitted to (55 minutes)
	@scripts/bootstrap test
	$(say) 'building, then measuring; trials go to target/bench-model, where a cut run goes on'
	$(CARGO) bench --locked --bench bench -- model

bench-advise: ## is what advise says from watching as good as tune's choice? Five apps at three loads (4 hours), and what the probe costs
	@scripts/bootstrap test
	$(CARGO) build --release --locked
	@scripts/bench-advise

bench-observe: ## does observe find what changed, and nothing where nothing did? Thousands of simulated weeks (a minute)
	@scripts/bootstrap build
	$(CARGO) bench --locked --bench bench -- observe

bench-simulator: ## how fast the simulator is, fleets by rate against each request, whether intervals cover (10 minutes)
	$(CARGO) bench --locked --bench bench -- simulator

bench-diagnosis: ## does the diagnosis name the true limit? SITUATIONS='name...' or all (10 minutes)
	@scripts/bootstrap test
	$(say) 'building, then measuring; records go to target/bench-diagnosis, where a cut run goes on'
	$(CARGO) bench --locked --bench bench -- diagnosis

bench-holds: ## does what `tune` prints hold on fresh starts of real apps? APPS='name...' or all (2 hours)
	@scripts/bootstrap demo
	$(say) 'building, then measuring; rows go to target/bench-holds/rows.csv, where a cut run goes on'
	$(CARGO) bench --locked --bench bench -- holds

bench-aa: ## by how much the same setting differs from start to start and over the time (1.5 hours)
	@scripts/bootstrap demo
	$(say) 'building, then measuring; rows go to target/bench-aa/rows.csv, where a cut run goes on'
	$(CARGO) bench --locked --bench bench -- aa

bench-labs: ## the published experiments and tune on their apps, LABS='name...' or all (2 hours)
	@scripts/bootstrap test
	$(say) 'building, then measuring; results go to target/bench-labs, where a cut run goes on'
	$(CARGO) build --release --locked
	@scripts/bench-labs $(LABS)

# No prerequisite but the file itself: `sudo make install` must not build as root.
install: $(binary) ## copy it to PREFIX/bin (PREFIX is /usr/local)
	install -D -m 755 $(binary) '$(DESTDIR)$(PREFIX)/bin/sweetspot'

$(binary):
	@$(MAKE) build

clean: ## remove what was built
	$(CARGO) clean
	rm -rf ui/dist ui/node_modules

help: ## show this
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r name what; do \
		printf '  make %-15s %s\n' "$$name" "$$what"; done
