// Package otlp sends telemetry to an OpenTelemetry collector.
package otlp

import _ "google.golang.org/protobuf/encoding/protowire"
