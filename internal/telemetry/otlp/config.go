package otlp

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/fault"
)

// Config describes the destination of spans.
type Config struct {
	Endpoint string // whole address of the traces
	Headers  map[string]string
	JSON     bool // http/json instead of http/protobuf
	Gzip     bool
	Timeout  time.Duration
	Resource []Attribute // the sender
}

// Attribute of a resource.
type Attribute struct{ Key, Value string }

// Configure reads the OTEL_* variables; not ok if they ask for no spans. version is that of ramet.
func Configure(env func(string) string, version string) (c Config, ok bool, err error) {
	of := func(name string) string { // that of traces goes before the one of all signals
		if v := strings.TrimSpace(env("OTEL_EXPORTER_OTLP_TRACES_" + name)); v != "" {
			return v
		}
		return strings.TrimSpace(env("OTEL_EXPORTER_OTLP_" + name))
	}
	exporter := strings.ToLower(strings.TrimSpace(env("OTEL_TRACES_EXPORTER")))
	switch {
	case strings.EqualFold(strings.TrimSpace(env("OTEL_SDK_DISABLED")), "true"), exporter == "none":
		return c, false, nil
	case exporter != "" && exporter != "otlp":
		return c, false, invalidVariable("OTEL_TRACES_EXPORTER", "ramet has the exporters otlp and none")
	case exporter == "" && of("ENDPOINT") == "":
		return c, false, nil
	}
	if c.Endpoint, err = readEndpoint(env); err != nil {
		return c, false, err
	}
	switch protocol := of("PROTOCOL"); protocol {
	case "", "http/protobuf":
	case "http/json":
		c.JSON = true
	default:
		return c, false, invalidVariable("OTEL_EXPORTER_OTLP_PROTOCOL", "ramet speaks http/protobuf and http/json")
	}
	switch of("COMPRESSION") {
	case "", "none":
	case "gzip":
		c.Gzip = true
	default:
		return c, false, invalidVariable("OTEL_EXPORTER_OTLP_COMPRESSION", "use gzip or none")
	}
	c.Timeout = 10 * time.Second
	if ms := of("TIMEOUT"); ms != "" {
		n, err := strconv.Atoi(ms)
		if err != nil || n < 1 || n > 3_600_000 {
			return c, false, invalidVariable("OTEL_EXPORTER_OTLP_TIMEOUT", "use milliseconds, such as 10000")
		}
		c.Timeout = time.Duration(n) * time.Millisecond
	}
	if c.Headers, err = parsePairs(of("HEADERS")); err != nil {
		return c, false, invalidVariable("OTEL_EXPORTER_OTLP_HEADERS", "use name=value,name=value, with special characters as %xx")
	}
	if c.Resource, err = readResource(env, version); err != nil {
		return c, false, err
	}
	return c, true, nil
}

// readEndpoint returns the endpoint of traces: their own variable unchanged, or that of all signals followed by the
// path of traces.
func readEndpoint(env func(string) string) (string, error) {
	name := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	address := strings.TrimSpace(env(name))
	if address == "" {
		name = "OTEL_EXPORTER_OTLP_ENDPOINT"
		address = strings.TrimSpace(env(name))
		if address == "" {
			address = "http://localhost:4318"
		}
		address = strings.TrimRight(address, "/") + "/v1/traces"
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", invalidVariable(name, "use something like http://localhost:4318")
	}
	return address, nil
}

// invalidVariable never shows the value: there may be a secret in it.
func invalidVariable(name, hint string) error {
	return fault.New(fault.InvalidConfig, "%s is not understood", name).WithHint("%s", hint)
}

// parsePairs reads name=value,name=value with percent-encoded values.
func parsePairs(s string) (map[string]string, error) {
	out := map[string]string{}
	for _, one := range strings.Split(s, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		name, value, ok := strings.Cut(one, "=")
		name = strings.TrimSpace(name)
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || name == "" || err != nil || strings.ContainsAny(name+decoded, "\r\n\x00") {
			return nil, errPairs()
		}
		out[name] = decoded
	}
	return out, nil
}

var errPairs = sync.OnceValue(func() *fault.Error { return fault.New(fault.InvalidConfig, "not name=value,name=value") })

func readResource(env func(string) string, version string) ([]Attribute, error) {
	more, err := parsePairs(env("OTEL_RESOURCE_ATTRIBUTES"))
	if err != nil {
		return nil, invalidVariable("OTEL_RESOURCE_ATTRIBUTES", "use name=value,name=value, with special characters as %xx")
	}
	name := strings.TrimSpace(env("OTEL_SERVICE_NAME"))
	if name == "" {
		name = more["service.name"]
	}
	if name == "" {
		name = "ramet"
	}
	out := []Attribute{{"service.name", name}}
	if _, said := more["service.version"]; !said && version != "" {
		out = append(out, Attribute{"service.version", version})
	}
	for _, key := range slices.Sorted(maps.Keys(more)) {
		if key != "service.name" {
			out = append(out, Attribute{key, more[key]})
		}
	}
	return out, nil
}
