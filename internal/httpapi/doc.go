// Package httpapi is ramet over HTTP, on loopback.
package httpapi

import _ "github.com/danielgtaylor/huma/v2"
