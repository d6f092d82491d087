package acpagent

import (
	"errors"

	sdk "github.com/coder/acp-go-sdk"

	"ramet/internal/base/fault"
	"ramet/internal/operation/public"
)

// Codes of JSON-RPC, and those that the protocol adds.
const (
	codeAuth     = -32000
	codeNotFound = -32002
	codeParams   = -32602
	codeInternal = -32603
)

// failure is an error as the editor is told of it: in words, with what to do, and with our own
// code beside it.
func failure(err error) *sdk.RequestError {
	var r *sdk.RequestError
	if errors.As(err, &r) {
		return r
	}
	e := public.FormatError(err)
	code := codeInternal
	switch e.Code {
	case fault.ProviderAuth:
		code = codeAuth
	case fault.NotFound:
		code = codeNotFound
	case fault.Usage, fault.InvalidField, fault.InvalidText, fault.InvalidName:
		code = codeParams
	}
	said := e.Message
	if e.Hint != "" {
		said += ": " + e.Hint
	}
	return &sdk.RequestError{Code: code, Message: said, Data: e}
}
