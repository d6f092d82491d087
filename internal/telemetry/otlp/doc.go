// Package otlp sends telemetry records as spans to an OpenTelemetry collector, over
// OTLP/HTTP, when the standard OTEL_* variables ask for it.
//
// # Promises
//
//   - A span is sent when its record has ended, once, with the trace_id and span_id of the
//     event log. A record without such ids gives none.
//   - Put never waits for the network. The queue is bounded: what does not fit, and what
//     the collector does not take after three more tries, is dropped and counted. The
//     event log and the telemetry service have it; a trace is a copy for the eye.
//   - Values of headers, which may be credentials, are in no error; nor is a password in an
//     address.
//
// Calls of models follow the semantic conventions for generative AI (gen_ai.*); what these
// have no name for is under ramet.*.
//
// The spans are encoded here: they have their own ids and times and are finished
// when they come here, which is just what the SDKs are made to decide themselves.
package otlp
