package cli

import (
	"strconv"
	"strings"

	"ramet/internal/base/fault"
)

// ParseSize reads a size such as 500MB, which a flag was given.
func ParseSize(flag, s string) (int64, error) {
	number, factor := strings.ToUpper(strings.TrimSpace(s)), int64(1)
	for suffix, f := range map[string]int64{"KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12} {
		if rest, ok := strings.CutSuffix(number, suffix); ok {
			number, factor = strings.TrimSpace(rest), f
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/factor {
		return 0, fault.New(fault.Usage, "--%s %.40q is no size", flag, s).WithHint("write 500MB or 2GB")
	}
	return n * factor, nil
}
