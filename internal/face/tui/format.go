package tui

import (
	"fmt"
	"time"

	"ramet/internal/model/llm"
)

func tokens(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 100_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

func money(m llm.Money) string {
	dollars := float64(m) / 1e9
	switch {
	case m == 0:
		return "$0.00"
	case dollars < 0.01:
		return fmt.Sprintf("$%.4f", dollars)
	}
	return fmt.Sprintf("$%.2f", dollars)
}

func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if noun == "child" {
		return fmt.Sprintf("%d children", n)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
