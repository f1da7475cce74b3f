# A thin front over Meson: `make run` and `make check` are all a newcomer needs.
# BUILD=dir chooses the build folder, MESON_ARGS="-Dx=y" the options of its first configuration.
BUILD ?= build
MESON_ARGS ?=
export PATH := $(PATH):/usr/sbin:/sbin

all: $(BUILD)/build.ninja
	ninja -C $(BUILD)

# Looks for what is missing; root installs it, everybody else is told the command.
deps:
	@scripts/deps build $(BUILD)

$(BUILD)/build.ninja: | deps
	meson setup $(BUILD) $(MESON_ARGS)

run: $(BUILD)/build.ninja
	ninja -C $(BUILD) bench/bpflab
	$(BUILD)/bench/bpflab run $(ARGS)

# The program for the inside of arm64 guests (docs/vm.md): a cross build, whose libraries are fetched.
guests: all
	scripts/build-guests $(BUILD)

check:
	@scripts/deps check $(BUILD)
	@$(MAKE) --no-print-directory all
	meson test -C $(BUILD) --print-errorlogs

# The statistics' promises at full length, simulated and live: some minutes.
stat-test: all
	$(BUILD)/tests/stat/stat_test --trials 20000 \
		--recorded tests/stat/recorded_user.txt --recorded tests/stat/recorded_host.txt
	tests/stat/live.sh $(BUILD)/bench/bpflab $(BUILD)/tests/stat $(LIVE)

# The tests of bpf(2) and of probes on kernels of the store, in guests: KERNELS="6.1 6.12,arch=arm64", or all.
check-vm: all
	tests/vm/run.sh $(BUILD) $(KERNELS)

tidy: all
	scripts/tidy $(BUILD)

install: all
	meson install -C $(BUILD) --no-rebuild $(if $(DESTDIR),--destdir $(abspath $(DESTDIR)))

clean:
	rm -rf $(BUILD)

.PHONY: all deps run guests check check-vm stat-test tidy install clean
