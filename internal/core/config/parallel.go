package config

import (
	"strconv"
	"strings"

	"ramet/internal/base/fault"
)

// parseParallel reads one part of the setting parallel: a number, for all, or vendor=number.
func parseParallel(item string) (vendor string, n int, ok bool) {
	count := item
	if name, after, one := strings.Cut(item, "="); one {
		vendor, count = strings.TrimSpace(name), strings.TrimSpace(after)
		if vendor == "" || strings.ContainsAny(vendor, " \t") {
			return "", 0, false
		}
	}
	n, err := strconv.Atoi(count)
	return vendor, n, err == nil && n >= 1 && n <= maxNumber
}

func checkParallel(item string) error {
	if _, _, ok := parseParallel(item); !ok {
		return fault.New(fault.InvalidConfig, "parallel cannot hold %.40q", item).WithHint("a number, or vendor=number: 16; ollama=1")
	}
	return nil
}

// Parallels returns how many models may be asked at a time: in all, and at each vendor.
func (c *Config) Parallels() (all int, each map[string]int) {
	each = map[string]int{}
	for _, item := range Items(c.Parallel) {
		switch vendor, n, ok := parseParallel(item); {
		case ok && vendor == "":
			all = n
		case ok:
			each[vendor] = n
		}
	}
	return all, each
}
