package database

import (
	"crypto/tls"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// lostRemedy is the hint for when a connection that was there is there no more.
const lostRemedy = "nothing was done: check that the server runs, then repeat"

// remedyFor returns the hint for a server that cannot be used: by what it said, if it said
// anything.
func remedyFor(err error) string {
	var e *pgconn.PgError
	var certificate *tls.CertificateVerificationError
	said := errors.As(err, &e)
	switch {
	case said && e.Code == "3D000":
		return "make it with `createdb`, or name another one in the URL"
	case said && e.Code == "53300":
		return "the server accepts no more connections now: wait, or raise its max_connections"
	case said && strings.HasPrefix(e.Code, "28") && strings.Contains(e.Message, "no encryption"):
		return "the server may want TLS: add sslmode=require to the URL; else pg_hba.conf has to admit this host, user and database"
	case said && e.Code == "28000" && strings.Contains(e.Message, "pg_hba.conf"):
		return "the server's pg_hba.conf has to admit this host, user and database"
	case said && strings.HasPrefix(e.Code, "28"):
		return "check user and password of the URL"
	case said && e.Code == "57P01":
		return "the connection was ended, or the server is stopping: repeat it"
	case said && e.Code == "57P02":
		return "the server crashed and restarts by itself: wait, then repeat"
	case said && (e.Code == "57P05" || e.Code == "25P03"):
		return "the session was silent for too long: repeat it"
	case said && strings.HasPrefix(e.Code, "08"):
		return lostRemedy
	case said && strings.HasPrefix(e.Code, "57P"):
		return "the server is starting or stopping: wait, then repeat"
	case said && e.Code == "42501":
		return "the user of the URL needs the right to connect to this database"
	case said && e.Code == "53100":
		return "the disk of the server is full: free some space there, then repeat"
	case said && strings.HasPrefix(e.Code, "53"):
		return "the server is out of resources: see its log, then repeat"
	case said && strings.HasPrefix(e.Code, "58"):
		return "the server cannot use its own files: see its log, and whether its disk is there and whole"
	case said && strings.HasPrefix(e.Code, "XX"):
		return "something is wrong inside the server: see its log; its data may be damaged"
	case said && (strings.HasPrefix(e.Code, "22") || strings.HasPrefix(e.Code, "42")):
		return "the server does not know a setting of the URL: leave out what the message names"
	case said:
		return "the server refuses connections: see its log"
	case errors.As(err, &certificate):
		return "its certificate is not accepted: give its authority with sslrootcert=FILE in the URL, and the host by the name in the certificate"
	case strings.Contains(innermostReason(err), noTLS):
		return "it offers no TLS: switch that on there, or, if the network between is private, add sslmode=disable to the URL"
	case strings.Contains(err.Error(), "tls: "):
		return "its TLS cannot be used: see sslmode and sslrootcert of the URL"
	}
	var connect *pgconn.ConnectError
	if !errors.As(err, &connect) && Lost(err) {
		return lostRemedy
	}
	return "check that the server runs and that the URL names it"
}

// ofTLS reports whether a server cannot be reached because TLS is used there in another way, or not at all.
func ofTLS(err error) bool {
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &certificate) || strings.Contains(innermostReason(err), noTLS) || strings.Contains(err.Error(), "tls: ")
}
