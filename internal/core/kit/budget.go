package kit

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"ramet/internal/core/history"
)

// parseBudget reads what an agent may spend: dollars (0.50, $0.50), or tokens (200000 tokens, 200k
// tokens); both with a comma between them. Empty: nil.
func parseBudget(said string) (*history.Budget, error) {
	if strings.TrimSpace(said) == "" {
		return nil, nil
	}
	var out history.Budget
	for part := range strings.SplitSeq(said, ",") {
		wrong := fmt.Errorf("budget cannot be %.40q: write dollars such as 0.50, or tokens such as 200k tokens", said)
		amount, isTokens := strings.CutSuffix(strings.ToLower(strings.TrimSpace(part)), "tokens")
		amount = strings.TrimSpace(amount)
		factor := 1.0
		for unit, times := range map[string]float64{"k": 1e3, "m": 1e6} {
			if head, ok := strings.CutSuffix(amount, unit); ok && isTokens {
				amount, factor = head, times
			}
		}
		amount = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(amount, "$"), "usd"))
		n, err := strconv.ParseFloat(strings.ReplaceAll(amount, "_", ""), 64)
		switch most := 1e6; {
		case err != nil || !(n > 0):
			return nil, wrong
		case isTokens && n*factor <= 1e15:
			tokens := int64(math.Round(n * factor))
			out.Tokens = &tokens
		case !isTokens && n <= most:
			nano := int64(math.Round(n * 1e9))
			out.Cost = &nano
		default:
			return nil, wrong
		}
	}
	return &out, nil
}
