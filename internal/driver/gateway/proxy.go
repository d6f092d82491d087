package gateway

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/model/catalog"
	"ramet/internal/model/llm"
)

// maxBody is the longest request.
const maxBody = 64 << 20

// serve is the one way through.
func (g *Gate) serve(w http.ResponseWriter, r *http.Request) {
	d, name, rest := g.find(r.URL.Path)
	if d == nil || r.Host != g.listener.Addr().String() || r.Header.Get("Origin") != "" {
		http.NotFound(w, r)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(d.life, cancel)() // a kill cuts what is under way
	r = r.WithContext(ctx)
	if name == "mcp" && g.o.MCP != nil && rest == "/" {
		g.o.MCP(w, r, d.Agent)
		return
	}
	v, known := vendors[name]
	if !known {
		http.NotFound(w, r)
		return
	}
	if r.Header.Get("Upgrade") != "" {
		v.refuse(w, http.StatusUpgradeRequired, "invalid_request_error", "ramet passes no upgraded connections on: use plain requests") // programs fall back at once
		return
	}
	call, ok := v.admits(r.Method, rest)
	if !ok {
		v.refuse(w, http.StatusNotFound, "not_found_error", "ramet does not pass "+r.Method+" "+rest+" on")
		return
	}
	var body bytes.Buffer
	if n := r.ContentLength; n > 0 && n <= maxBody {
		body.Grow(int(n) + bytes.MinRead) // all at once, and what asks for more
	}
	if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, maxBody)); err != nil {
		v.refuse(w, http.StatusRequestEntityTooLarge, "invalid_request_error", "the request is cut off, or too long")
		return
	}
	g.pass(w, r, passage{door: d, vendor: name, rest: rest, body: body.Bytes(), call: call})
}

// passage is one request on its way.
type passage struct {
	door         *Door
	vendor, rest string
	body         []byte
	call         *endpoint // of a model call; nil: the request costs nothing
}

// pass sends a request on and hands its answer back.
func (g *Gate) pass(w http.ResponseWriter, r *http.Request, p passage) {
	v := vendors[p.vendor]
	if p.call == nil {
		answer, err := g.send(r, p)
		if err != nil {
			v.unreached(w, p.vendor)
			return
		}
		defer answer.Body.Close()
		if !stream(w, answer, io.Discard) {
			panic(http.ErrAbortHandler) // half an answer must not look whole
		}
		return
	}
	c := &metered{passage: p, v: v, way: p.door.begin(),
		rec: Record{Agent: p.door.Agent, Driver: p.door.Driver, Vendor: p.vendor, Path: p.rest, Began: time.Now()}}
	sent := false
	defer func() {
		if sent {
			p.door.end(c.way, &c.rec)
		} else {
			p.door.end(c.way, nil)
		}
	}()
	if !g.reserve(w, r, c) {
		return
	}
	answer, err := g.send(r, c.passage)
	if err != nil {
		// It may have reached the vendor all the same, unless nobody was there.
		if unsent(err) {
			_ = c.held.Settle(r.Context()) // else it counts as spent
		}
		v.unreached(w, p.vendor)
		return
	}
	defer answer.Body.Close()
	sent = true
	c.rec.Status, c.rec.First = answer.StatusCode, time.Since(c.rec.Began)
	m, sum := &meter{events: strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream")}, sha256.New()
	c.way.told.Store(!m.events) // such an answer is short, and whole at once
	m.ends = func() { c.way.told.Store(true) }
	count := []io.Writer{m, sum}
	kept := &text.EndsBuffer{Head: maxKept}
	if g.o.Bodies {
		count = append(count, kept)
	}
	whole := stream(w, answer, io.MultiWriter(count...))
	if body, _, missing := kept.Kept(); missing == 0 {
		c.rec.Received = body
	}
	g.settle(r, c, m, sum, whole)
	if !whole {
		panic(http.ErrAbortHandler)
	}
}

// metered is a call of a model on its way.
type metered struct {
	passage
	v     vendor
	rec   Record
	held  *Held
	price llm.Price
	way   *underway
}

// reserve sets aside what a call may come to; false: it was refused.
func (g *Gate) reserve(w http.ResponseWriter, r *http.Request, c *metered) bool {
	plain, err := unpacked(r.Header.Get("Content-Encoding"), c.body)
	var q request
	if err == nil {
		err = json.Unmarshal(plain, &q, jsontext.AllowInvalidUTF8(true))
	}
	if err == nil {
		err = q.check()
	}
	if err != nil {
		c.v.refuse(w, http.StatusBadRequest, "invalid_request_error", "ramet cannot read the request, and does not pass it on: "+err.Error())
		return false
	}
	c.rec.Model = c.v.model(q, c.rest)
	c.price, c.rec.Priced = priceOf(c.vendor, c.rec.Model)
	each := q.limit(c.call.limits)
	if each <= 0 {
		each = usualOutput
	}
	output := min(each, mostOutput) * q.answers()
	least := output
	if g.o.Clamp && len(c.call.limits) > 0 {
		least = min(output, leastOutput*q.answers())
	}
	c.held, err = g.o.Reserver.Reserve(r.Context(), Call{Agent: c.door.Agent, Model: c.vendor + "/" + c.rec.Model, Input: c.read(q, plain),
		Output: output, Least: least, Price: c.price, Priced: c.rec.Priced, Search: maxSearches})
	if err != nil {
		if fault.Is(err, fault.BudgetExceeded) {
			c.door.refuse()
		}
		g.refused(w, c.v, err)
		return false
	}
	if c.held.Output < output {
		if plain, err = c.v.lower(c.call.limits, plain, c.held.Output/q.answers()); err != nil {
			_ = c.held.Settle(r.Context()) // it is not sent
			c.v.refuse(w, http.StatusBadRequest, "invalid_request_error", "ramet cannot lower what the request may have written: "+err.Error())
			return false
		}
		c.rec.Asked, c.body = each, plain
		r.Header.Del("Content-Encoding")
	}
	if g.o.Bodies && len(plain) <= maxKept {
		c.rec.Sent = plain
	}
	return true
}

// settle records what a call came to, and gives back what was set aside for it. What nobody
// has counted stays set aside.
func (g *Gate) settle(r *http.Request, c *metered, m *meter, sum hash.Hash, whole bool) {
	sent := sha256.Sum256(c.body)
	rec := &c.rec
	rec.Request, rec.Response, rec.Took = hexOf(sent[:]), hexOf(sum.Sum(nil)), time.Since(rec.Began)
	rec.Usage, rec.Counted = m.end()
	rec.Counted = rec.Counted && whole
	if whole && rec.Status >= 400 && !rec.Counted {
		rec.Counted = true // refused calls cost nothing
	}
	rec.Cost = c.price.Cost(rec.Usage)
	if err := g.o.Record(context.WithoutCancel(r.Context()), *rec); err == nil && rec.Counted {
		_ = c.held.Settle(r.Context()) // else it counts as spent
	}
}

func priceOf(vendor, model string) (llm.Price, bool) {
	v, err := catalog.Find(vendor)
	if err != nil {
		return llm.Price{}, false
	}
	return v.Price(model)
}

// refused tells a program that its budget does not hold the call.
func (g *Gate) refused(w http.ResponseWriter, v vendor, err error) {
	if f, ok := fault.Of(err); ok {
		how := refusal{http.StatusForbidden, "permission_error"}
		if v.broke.status != 0 {
			how = v.broke
		}
		v.refuse(w, how.status, how.code, "ramet: "+string(f.Code)+": "+f.Message)
		return
	}
	v.refuse(w, http.StatusInternalServerError, "api_error", "ramet: "+err.Error())
}

// unpacked is a body as it was before it was packed.
func unpacked(how string, body []byte) ([]byte, error) {
	var from io.Reader
	switch strings.ToLower(how) {
	case "", "identity":
		return body, nil
	case "gzip":
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		from = z
	case "zstd":
		z, err := zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBody))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		from = z
	default:
		return nil, errors.New("it is packed in a way that is not known")
	}
	out, err := io.ReadAll(io.LimitReader(from, maxBody+1))
	if err == nil && len(out) > maxBody {
		err = errors.New("it is too long")
	}
	return out, err
}

// send sends the request on: the same bytes, the same headers but for those of the connection,
// and a key of ours where the way says so. Answers are asked for unpacked, so that they can be
// counted.
func (g *Gate) send(r *http.Request, p passage) (*http.Response, error) {
	at, err := g.address(r, p)
	if err != nil {
		return nil, err
	}
	out, err := http.NewRequestWithContext(r.Context(), r.Method, at.String(), bytes.NewReader(p.body))
	if err != nil {
		return nil, err
	}
	out.Header = r.Header.Clone()
	for _, name := range []string{"Connection", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Cookie"} {
		out.Header.Del(name)
	}
	out.Header.Set("Accept-Encoding", "identity")
	if key := p.door.Keys[p.vendor]; key != "" {
		vendors[p.vendor].lend(out.Header, key)
	}
	return g.o.Client.Do(out)
}

// unsent says that nothing of a request can have reached anybody.
func unsent(err error) bool {
	return strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "no such host")
}

// stream hands an answer on as it comes, and counts it; true: it came whole and was taken.
func stream(w http.ResponseWriter, answer *http.Response, count io.Writer) bool {
	for name, values := range answer.Header {
		switch name {
		case "Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade", "Set-Cookie":
		default:
			w.Header()[name] = values
		}
	}
	w.WriteHeader(answer.StatusCode)
	flush := http.NewResponseController(w)
	_ = flush.Flush() // the headers are the first word
	buffer := make([]byte, 16<<10)
	for {
		n, err := answer.Body.Read(buffer)
		if n > 0 {
			_, _ = count.Write(buffer[:n]) // before the program has it; neither meter nor hash fails
			if _, err := w.Write(buffer[:n]); err != nil {
				return false
			}
			_ = flush.Flush() // where nothing can be flushed, it is not kept either
		}
		if err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}
