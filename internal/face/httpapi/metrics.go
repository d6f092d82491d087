package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"ramet/internal/telemetry"
)

const metricsMedia = "text/plain; version=0.0.4; charset=utf-8"

func (s *Server) metrics(c *Call) error {
	var m exposition
	m.head("ramet_build_info", "gauge", "What answers.")
	m.sample("ramet_build_info", 1, "version", s.o.Version, "go", runtime.Version())
	if c.project != nil {
		if store, ok := c.project.parts.Telemetry.(totaler); ok {
			totals, err := store.Totals(c.Context())
			if err != nil {
				return err
			}
			m.records(totals)
		}
	}
	s.counts.write(&m)
	return c.Text(http.StatusOK, metricsMedia, []byte(m.String()))
}

type exposition struct{ strings.Builder }

func (m *exposition) head(name, kind, help string) {
	fmt.Fprintf(m, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// sample is one line; labels are names and values in turn.
func (m *exposition) sample(name string, value float64, labels ...string) {
	m.WriteString(name)
	before := "{"
	for i := 0; i+1 < len(labels); i += 2 {
		m.WriteString(before + labels[i] + `="` + labelEscapes.Replace(strings.ToValidUTF8(labels[i+1], "\uFFFD")) + `"`)
		before = ","
	}
	if len(labels) > 0 {
		m.WriteByte('}')
	}
	m.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}

func (m *exposition) records(totals []telemetry.Total) {
	m.head("ramet_telemetry_runs", "gauge", "Telemetry runs that are kept.")
	for _, t := range totals {
		m.sample("ramet_telemetry_runs", float64(t.Records), "job_type", string(t.JobType), "status", string(t.Status))
	}
	var input, output int64
	var cost float64
	for _, t := range totals {
		input, output, cost = input+t.InputTokens, output+t.OutputTokens, cost+t.CostUSD
	}
	m.head("ramet_llm_tokens", "gauge", "Tokens of the model calls that are kept.")
	m.sample("ramet_llm_tokens", float64(input), "kind", "input")
	m.sample("ramet_llm_tokens", float64(output), "kind", "output")
	m.head("ramet_llm_cost_usd", "gauge", "Cost of the model calls that are kept, as far as prices are known.")
	m.sample("ramet_llm_cost_usd", cost)
}

func (c *counts) write(m *exposition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m.head("ramet_http_requests_total", "counter", "Requests by route and status; none is a path or method that no route has.")
	keys := slices.SortedFunc(maps.Keys(c.requests), func(a, b counted) int {
		return cmp.Or(cmp.Compare(a.route, b.route), cmp.Compare(a.status, b.status))
	})
	for _, k := range keys {
		m.sample("ramet_http_requests_total", float64(c.requests[k]), "route", k.route, "status", strconv.Itoa(k.status))
	}
	m.head("ramet_http_panics_total", "counter", "Requests that failed by a mistake of ramet's.")
	m.sample("ramet_http_panics_total", float64(c.panics.Load()))
	m.head("ramet_sse_clients", "gauge", "Clients of event streams.")
	m.sample("ramet_sse_clients", float64(c.streams.Load()))
}

// counts holds the HTTP counters of /metrics.
type counts struct {
	panics, streams atomic.Int64

	mu       sync.Mutex
	requests map[counted]int64 // guarded by mu
}

type counted struct {
	route  string
	status int
}

func (c *counts) answered(route string, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests[counted{route, status}]++
}

// totaler is a store that adds up its records for /metrics.
type totaler interface {
	Totals(ctx context.Context) ([]telemetry.Total, error)
}
