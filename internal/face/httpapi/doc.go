// Package httpapi is ramet over HTTP, on loopback: telemetry, runs, the ledger, agents
// and the page.
//
// It promises:
//
//   - One table of routes (Route) says what is answered. Every request passes one gate
//     before it reaches a route: Host, Origin, token or session, path, method, query,
//     media type, size, depth. A new route cannot be without it.
//   - Nothing but /health, and /login with a one-time code, is answered to somebody who
//     has neither the token nor a session.
//   - No page of another origin can read or change anything, whatever name it gives this
//     address.
//   - GET and HEAD change nothing, but that a login code is used up.
//   - What was acknowledged is durable: a 2xx is written after the store returned.
//   - A client that is slow, broken or gone holds one connection for a bounded time.
//   - Nothing of a request is logged. A panic becomes 500 and says nothing of its cause.
//   - The OpenAPI document is made from the table and the types that are really read and
//     written.
package httpapi
