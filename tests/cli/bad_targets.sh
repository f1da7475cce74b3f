# SPDX-License-Identifier: BSD-2-Clause
usage_error "target 'user:jit': 'jit' is not NAME=VALUE*" run --on user:jit arr-inc
usage_error "target 'user:jti=on': libbpfu has no option 'jti'*" run --on user:jti=on arr-inc
usage_error "target 'user:jit=maybe': option 'jit' does not take 'maybe'; it is on or off" \
	run --on user:jit=maybe arr-inc
usage_error "target 'user:jit=on,jit=off': 'jit' is set twice" run --on user:jit=on,jit=off arr-inc
usage_error "target 'host:jit=off': the running kernel has no option 'jit'*" run --on host:jit=off arr-inc
usage_error "target '$TARGET' is given twice" run --on "$TARGET" --on "$TARGET" arr-inc
