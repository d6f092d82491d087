// Package outbox delivers telemetry, in order, without ever holding up the work.
//
// # Promises
//
//   - Put writes to a file and returns; it waits for no network and for no fsync. Deliveries that a power cut loses
//     are made again from the event log: telemetry.Follow makes the same deliveries of the same events, and Marked
//     returns how far it got.
//   - What was put before a crash of the process is sent after it.
//   - A change is never sent before the creation of its record, and changes of a record
//     are sent in their order.
//   - After no answer, a timeout or 5xx a delivery is tried again after 1, 2 and 4 s; then it stays here and is
//     tried again later, until it is accepted. A delivery that is sent twice is the same both times.
//   - 4xx is never tried again: it goes to the dead letters, with the answer, and is
//     reported.
//   - A record of this machine that another run has under the same id is not changed: what would
//     have been sent goes to the dead letters, and that is reported once.
//   - An outbox remembers its destination: opening it with another one is refused (CONFLICT). The file does not
//     hold the token; a process without a way to the destination keeps the deliveries.
//   - One process at a time: a second is LOCKED.
//   - The token is in no file and in no error.
//
// # Files
//
// The outbox is JSON lines. An unfinished last line is cut off; a line that cannot be read
// goes to the dead letters.
//
//	{"to":"http://…","token":true}                       where it goes, and whether with a token; the first line
//	{"method":"POST","path":"/api/v1/runs","body":{…}}   a delivery
//	{"sent":3}                                           the first three are done
//	{"mark":"NAME","at":7}                               see PutMarked
//	{"open":{"event_id":…,"run_id":…,"start_time":…}}    created, running, sent; see Made
//
// The dead letters are in NAME.dead.jsonl beside it: {"at","method","path","body",
// "status","answer"}.
package outbox
