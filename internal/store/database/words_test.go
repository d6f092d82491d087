package database

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

// meet starts a server that answers each connection, which is asked for TLS or is not,
// and gives what a client meets there.
func meet(t *testing.T, params string, answer func(c net.Conn, asked bool)) error {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.OK(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				first := make([]byte, 8)
				io.ReadFull(c, first)
				answer(c, string(first) == "\x00\x00\x00\x08\x04\xd2\x16\x2f")
				c.(*net.TCPConn).CloseWrite()
				io.Copy(io.Discard, c) // what was not read would break the connection before the answer is
			}()
		}
	}()
	pg := testkit.Must(ParsePostgres("postgres://ada:opensesame@" + listener.Addr().String() + "/data?" + params))(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	_, err = pgx.ConnectConfig(ctx, pg.Config)
	return PostgresFault(pg.Place, err)
}

func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key := testkit.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	form := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"elsewhere.example"}, NotAfter: time.Now().Add(time.Hour)}
	der := testkit.Must(x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key))(t)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestTLSThatCannotBeUsedIsSaidToBeThat(t *testing.T) {
	own := certificate(t)
	for _, c := range []struct {
		name, params, want string
		answer             func(net.Conn, bool)
	}{
		{"no TLS", "sslmode=require", "it offers no TLS", func(c net.Conn, _ bool) { c.Write([]byte("N")) }},
		{"a certificate of nobody", "sslmode=verify-full", "its certificate is not accepted", func(c net.Conn, _ bool) {
			c.Write([]byte("S"))
			tls.Server(c, &tls.Config{Certificates: []tls.Certificate{own}}).Handshake()
		}},
		{"no TLS after all", "sslmode=require", "its TLS cannot be used", func(c net.Conn, _ bool) { c.Write([]byte("Snonsense, which is not a TLS at all")) }},
	} {
		err := meet(t, c.params, c.answer)
		if !fault.Is(err, fault.StorageUnreachable) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "opensesame") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestWhatAServerSaidHasItsRemedy(t *testing.T) {
	said := func(code, message string) func(net.Conn, bool) {
		return func(c net.Conn, asked bool) {
			if asked {
				c.Write([]byte{'N'}) // and it comes again, without
				return
			}
			body := "SFATAL\x00C" + code + "\x00M" + message + "\x00\x00"
			n := len(body) + 4
			c.Write(append([]byte{'E', byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, body...))
		}
	}
	for _, c := range []struct{ code, message, want string }{
		{"3D000", `database "data" does not exist`, "make it with `createdb`"},
		{"28P01", `password authentication failed for user "ada"`, "check user and password"},
		{"28000", `no pg_hba.conf entry for host "x", user "ada", database "data", no encryption`, "may want TLS"},
		{"53300", "sorry, too many clients already", "accepts no more connections"},
		{"57P03", "the database system is starting up", "starting or stopping"},
		{"58P01", `could not open file "global/pg_filenode.map": No such file or directory`, "see its log, and whether its disk"},
		{"58030", "could not read file", "cannot use its own files"},
		{"53100", "could not extend file", "disk of the server is full"},
		{"53200", "out of memory", "out of resources"},
		{"XX001", "invalid page in block 0", "may be damaged"},
		{"42501", `permission denied for database "data"`, "right to connect"},
		{"42704", `unrecognized configuration parameter "x"`, "leave out what the message names"},
		{"55000", `database "data" is not currently accepting connections`, "refuses connections: see its log"},
	} {
		err := meet(t, "sslmode=prefer", said(c.code, c.message))
		if !fault.Is(err, fault.StorageUnreachable) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v", c.code, err)
		}
		if strings.Contains(err.Error(), "password of the URL") != strings.HasPrefix(c.code, "28P") {
			t.Errorf("%s: who is it to look at a password? %v", c.code, err)
		}
	}
}

// asked returns a wire over which something is asked, and the server's end of it.
func asked(t *testing.T, m *manner) (*wire, net.Conn) {
	client, server := net.Pipe()
	t.Cleanup(func() { client.Close(); server.Close() })
	w := &wire{Conn: client}
	w.ask(m)
	return w, server
}

func TestASilentWireIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var told time.Duration
		w, _ := asked(t, &manner{silence: 15 * time.Second, tell: func() { told = time.Since(began) }})
		_, err := w.Read(make([]byte, 1))
		if took := time.Since(began); !errors.Is(err, ErrSilent) || took != 15*time.Second {
			t.Errorf("%v after %s", err, took)
		}
		if told != 2*time.Second {
			t.Errorf("told after %s", told)
		}
		if _, err := w.Write([]byte("x")); !errors.Is(err, ErrSilent) {
			t.Errorf("write: %v", err)
		}
	})
}

// Bytes that keep coming are waited for, however long all of them take.
func TestProgressCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, server := asked(t, &manner{silence: 10 * time.Second})
		go func() {
			for range 10 {
				time.Sleep(9 * time.Second)
				server.Write([]byte("x"))
			}
		}()
		if n, err := io.ReadFull(w, make([]byte, 10)); err != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
	})
}

// A server that says it is busy may be silent for longer, until it says that it is not.
func TestABusyWireIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, times := time.Now(), 0
		w, _ := asked(t, &manner{silence: 10 * time.Second, working: func() bool { times++; return times < 4 }})
		_, err := w.Read(make([]byte, 1))
		if took := time.Since(began); !errors.Is(err, ErrSilent) || took < 40*time.Second || took > 50*time.Second {
			t.Errorf("%v after %s", err, took)
		}
	})
}
