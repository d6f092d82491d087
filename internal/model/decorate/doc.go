// Package decorate wraps llm.Provider with what every vendor needs. Package dial stacks the decorators:
//
//   - WithRecord calls a Recorder with every call: a hash of the request, usage, cost, duration and end. It
//     is outside of retries, so one call is one record. The record is made before the terminal event is
//     passed on; if that fails, the call has failed. A consumer that breaks off leaves a record too.
//   - WithResume continues an answer that a vendor paused, as some do after web searches. The caller sees
//     one answer with the tokens of all requests. A vendor that pauses without output, or for ever, has
//     cut the answer.
//   - WithRetry repeats calls that failed for a temporary reason, with backoff, jitter and the server's
//     Retry-After, and reports each as a Retry event. It repeats only while nothing of an answer was
//     shown, and at most RetryOptions.Attempts times, except for calls made Patiently.
//   - WithStructured asks again without the schema where a vendor refused it, and does not send that model
//     a schema again.
//   - WithSight replaces images and documents by a sentence for models and protocols that cannot read
//     them, and asks once more without them where a vendor refused.
//   - WithQueue limits how many calls run at the same time, in all and for each vendor, first come, first
//     served. A call that waits for a busy vendor does not delay those to others.
//
// All of them stop at once when the context ends.
package decorate
