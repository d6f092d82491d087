// Package gateway stands between agents and the vendors of models, so that nothing is spent
// that no budget holds.
//
// A Reserver sets aside what a call may come to at worst before it is sent, in every budget
// that binds its agent, and gives it back when what it came to stands in the history.
//
// # Promises
//
//   - No budget is exceeded, as the server counts it: two calls never spend the same rest,
//     whichever processes and hosts send them (registry.Budgets.Reserve is one transaction).
//   - A call is lowered to what is left before it is refused, if its sender allows that.
//   - A call that does not fit because of others that are under way waits for them, in the
//     order of asking, for a minute at most; one that could not fit even if they came to
//     nothing is refused at once.
//   - What was set aside by somebody who died counts as spent.
//   - Where no budget binds, nothing is written.
package gateway
