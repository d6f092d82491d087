package otlp

import _ "go.opentelemetry.io/proto/otlp/collector/trace/v1"
