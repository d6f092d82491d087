package tui

import (
	"fmt"

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
