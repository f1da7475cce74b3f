# SPDX-License-Identifier: BSD-2-Clause
usage_error "bench 'arr-inc' has no native form; on 'native' run 'jit-\*'*" run --on native arr-inc
usage_error "target 'native:vec=maybe': option 'vec' does not take 'maybe'; it is on or off" \
	run --on native:vec=maybe jit-fnv
usage_error "target 'native:jit=off': native code has no option 'jit'; it takes vec=on or vec=off" \
	run --on native:jit=off jit-fnv
usage_error "*has no native form*" compare "$TARGET" native hash-inc
