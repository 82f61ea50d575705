# make run    builds punctual and starts it with demo data
# make test   everything that must hold, on private servers
# make help   the rest
#
# Both install what is missing and may be run again and again; the second time they only do
# what changed.

.DEFAULT_GOAL := help
.PHONY: help run build page program test installed test-program test-packages test-page lint lint-go lint-page race bench soak load upgrade crash fuzz clocks attack interop active-directory pooler pictures alerts manifests deb deb-test image-test sbom licenses reproducible fmt clean

GO ?= go
# Without MessagePack, which punctual does not speak and which takes long to compile.
export GOFLAGS += -tags=nomsgpack
# Packages where goroutines share something are tested under the race detector. It makes SQLite some 20 times
# slower, so they use Postgres alone, and the other packages and the built program are tested without it.
RACE := ./delayjob ./delayjob/admin ./delayjob/gather ./delayjob/lateness ./delayjob/memqueue ./delayjob/redisqueue ./delayjob/topics ./delayjob/webhook ./meeting/booking ./meeting/events ./notify ./notify/email ./notify/webhook ./account/redislimit
# Of package account, only tests in which goroutines meet: hashing takes ten times as long there.
RACE_ACCOUNT := Queue|Limiter|SameMoment|flood|[rR]ace|once|lastAdmin

PAGE := web/dist/index.html
PAGE_SOURCE := $(shell find web/src web/public web/scripts web/*.html web/*.ts web/*.js web/package.json -type f 2>/dev/null)
MODULES := web/node_modules/.package-lock.json

help:
	@echo 'make run     build and start on http://localhost:8080 with demo rooms, people and meetings'
	@echo 'make test    install what is missing, check and test everything'
	@echo 'make build   the page and bin/punctual'
	@echo 'make lint    gofmt, vet, staticcheck, svelte-check'
	@echo 'make race    the tests of concurrent packages under the race detector'
	@echo 'make crash   kill the program at each of its crash points, CRASH_RUNS=20 times'
	@echo 'make soak    three processes under load while everything fails at random, for SOAK=3m'
	@echo 'make load    two processes with 10,000 rooms and a million meetings under load, for LOAD=10m'
	@echo 'make upgrade  replace three processes of UPGRADE_FROM, a commit or a program, by this version under load'
	@echo 'make fuzz    random requests to every operation of the API, for FUZZ=10m'
	@echo 'make clocks  the tests at 24 instants: every hour, ends of months, changes of clocks; some hours'
	@echo 'make attack  what others notice while somebody takes all they can get'
	@echo 'make interop calendars with Postfix, Dovecot, vdirsyncer, khal, calcurse and Python programs'
	@echo 'make active-directory  sign-in with a domain controller of Samba; needs root'
	@echo 'make pooler  three processes behind PgBouncer in transaction mode'
	@echo 'make bench   measure, some six minutes; writes docs/benchmarks.md'
	@echo 'make pictures draw the pictures of the documentation anew'
	@echo 'make manifests  write deploy/kubernetes from the Helm chart, and check both'
	@echo 'make deb     a Debian package in bin/, of DEB_ARCH=amd64 or arm64'
	@echo 'make deb-test  install, upgrade and remove the Debian package in a minimal Debian; by root'
	@echo 'make image-test  build the image, start docker-compose.yml and book a meeting; by root'
	@echo 'make sbom    list all modules in the program and the page, with licenses, in bin/*.cdx.json'
	@echo 'make licenses  check the licenses of all dependencies, and write them to bin/licenses.txt'
	@echo 'make reproducible  build the program twice from nothing and compare the bytes'
	@echo 'make alerts  check and test the alerts for Prometheus'
	@echo 'make fmt     format the Go source'
	@echo 'make clean   remove what was built (not data/)'

alerts:
	@.ci/install alerts
	@cd deploy/prometheus && promtool check rules punctual.rules.yml && promtool test rules punctual.test.yml

# The tool is not one of our modules: it is built when it is used.
sbom: page
	@mkdir -p bin
	@$(GO) run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.9.0 app -json -std -licenses -output bin/program.cdx.json .
	@cd web && npm sbom --sbom-format cyclonedx >../bin/page.cdx.json
	@echo 'bin/program.cdx.json bin/page.cdx.json'

# Fails for a license that nobody has allowed yet.
licenses: $(MODULES)
	@mkdir -p bin
	@node web/scripts/check-licenses.js bin/licenses.txt

reproducible: page
	@.ci/reproducible

run:
	@.ci/install run
	@if .ci/node; then $(MAKE) --no-print-directory page; else echo 'going on without the page; the API works'; fi
	@$(MAKE) --no-print-directory program
	@bin/punctual demo --if-empty
	@exec bin/punctual serve

build: page program

program:
	@echo 'building bin/punctual'
	@$(GO) build -o bin/punctual .

page: $(PAGE)
	@:

$(PAGE): $(MODULES) $(PAGE_SOURCE)
	@echo 'building the page'
	@cd web && npm run --silent build -- --logLevel error
	@touch $@

$(MODULES): web/package-lock.json web/package.json
	@.ci/node
	@echo 'fetching what the page is built with'
	@cd web && npm ci --silent
	@touch $@

# Checking compiles nearly everything, and no test that watches a clock runs beside a compiler. Then two
# stages at a time: most of the program's tests wait, for a mail or for a meeting's start. GOGC: compilers
# and tests collect garbage less often. The timeouts end what hangs; they are several times what a slow machine needs.
test: export GOGC ?= 400
test:
	@$(MAKE) --no-print-directory -j2 installed lint-go
	@$(MAKE) --no-print-directory -j2 test-program lint-page race test-page test-packages
	@echo 'all tests passed'

installed:
	@.ci/install test

test-program:
	@echo 'testing the program'
	@$(GO) test -vet=off -skip '^TestPage[A-Z]' -timeout 90m ./tests

# The package whose tests take longest is first: the others are tested meanwhile.
test-packages:
	@echo 'testing the packages'
	@$(GO) test -vet=off -timeout 90m punctual/meeting/gormstore $$($(GO) list ./... | grep -vxF -e punctual/tests -e punctual/meeting/gormstore -e "$$($(GO) list $(RACE))")

test-page: $(PAGE)
	@echo 'testing the page in a browser'
	@$(GO) test -vet=off -run '^TestPage[A-Z]' -parallel 2 -timeout 90m ./tests

race: $(PAGE)
	@echo 'testing for data races'
	@$(GO) test -vet=off -race -timeout 90m $(RACE)
	@$(GO) test -vet=off -race -timeout 90m -run '$(RACE_ACCOUNT)' ./account

lint: export GOGC ?= 400
lint: lint-go lint-page

lint-go: $(PAGE)
	@echo 'checking Go'
	@unformatted=$$(gofmt -l $$(git ls-files '*.go' 2>/dev/null || find . -name '*.go' -not -path './web/node_modules/*')); \
		[ -z "$$unformatted" ] || { echo "not formatted (make fmt does it):"; echo "$$unformatted"; exit 1; }
	@$(GO) vet ./...
	@$(GO) tool staticcheck ./...

lint-page: $(MODULES)
	@echo 'checking the page'
	@cd web && npm run --silent check

crash: export CRASH_RUNS ?= 20
crash:
	@.ci/install test
	@$(GO) test -count=1 -run '^TestCrashPoints$$' -timeout 0 ./tests

# FUZZ is a duration (10m, 8h); FUZZ_SEED repeats the requests of an earlier run.
fuzz: export FUZZ ?= 10m
fuzz:
	@.ci/install test
	@$(GO) test -count=1 -v -run '^TestFuzz$$' -timeout 0 ./tests

# Of chosen instants: .ci/clocks 2027-03-28T00:59:30Z
clocks:
	@.ci/install test
	@.ci/clocks

# SOAK is a duration (3m, 8h); SOAK_SEED repeats the faults of an earlier run.
soak: export SOAK ?= 3m
soak:
	@.ci/install test
	@$(GO) test -count=1 -v -run '^TestSoak$$' -timeout 0 ./tests/soak

# LOAD is a duration (10m, 1h). LOAD_ROOMS, LOAD_MEETINGS, LOAD_PEOPLE and LOAD_SEED change its size and repeat its
# choices; LOAD_DOCS=1 writes the result into docs/benchmarks.md.
load: export LOAD ?= 10m
load:
	@.ci/install test
	@LOAD_DOCS='$(if $(LOAD_DOCS),$(CURDIR)/docs)' $(GO) test -vet=off -run '^$$' -bench '^BenchmarkLoad$$' -benchtime 1x -timeout 0 ./tests/bench

# UPGRADE_FROM is a commit or the path of a program; by default the commit before the newest migration.
upgrade:
	@.ci/install test
	@UPGRADE_FROM='$(or $(abspath $(wildcard $(UPGRADE_FROM))),$(UPGRADE_FROM))' $(GO) test -vet=off -count=1 -v -tags $(subst -tags=,,$(filter -tags=%,$(GOFLAGS))),upgrade -run '^TestUpgrade$$' -timeout 30m ./tests

# It writes what it found into docs/benchmarks.md and docs/benchmarks.svg. Run it on a quiet machine.
bench:
	@.ci/install test
	@PUNCTUAL_BENCH_DOCS='$(CURDIR)/docs' $(GO) test -run '^$$' -bench . -skip 'Finding|TopicBacklog|Attacks|Load' -benchtime 1x -timeout 30m ./tests/bench

# What another person notices under each of the attacks that the limits are for.
attack:
	@.ci/install test
	@$(GO) test -run '^$$' -bench Attacks -benchtime 1x -timeout 30m ./tests/bench

# Real mail servers and calendar programs. Postfix must be started by root.
interop:
	@.ci/install test
	@$(GO) test -vet=off -count=1 -run '^TestInterop_' -timeout 10m ./tests

# Sign-in with a real Active Directory: a domain controller of Samba. It needs root and Linux, because the ports of a
# domain are fixed and it gets a loopback address of its own.
active-directory:
	@.ci/install active-directory
	@$(GO) test -count=1 -tags nomsgpack,activedirectory -run '^TestActiveDirectory$$' -timeout 5m ./account/ldap

# Behind PgBouncer, which is installed for this only.
pooler:
	@.ci/install pooler
	@$(GO) test -vet=off -count=1 -tags $(subst -tags=,,$(filter -tags=%,$(GOFLAGS))),pooler -run '^TestPooler$$' -timeout 5m ./tests

# From the demonstration, in a browser.
pictures: $(PAGE)
	@.ci/install test
	@$(GO) test -count=1 -tags pictures -run '^TestPictures$$' -timeout 5m ./tests

# The chart is checked by Helm itself and the types of Kubernetes, in a module of its own.
manifests:
	@cd deploy/check && GOFLAGS= $(GO) test -count=1 . -update

deb: page
	@.ci/deb $(DEB_ARCH) $(DEB_VERSION)

deb-test: page
	@.ci/deb-test

# The image and docker-compose.yml, with Debian's podman; the other images are stand-ins.
image-test:
	@.ci/node
	@.ci/install image-test
	@.ci/image-test

fmt:
	@gofmt -w $$(git ls-files '*.go')

clean:
	rm -rf bin web/node_modules
	find web/dist -mindepth 1 ! -name .gitkeep -delete
