package foreign

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"
	"sync"
)

//go:embed page
var page embed.FS

// pieces are the script and the style of every file, with their hashes as a policy names them.
var pieces = sync.OnceValue(func() (out parts) {
	read := func(names ...string) (text, hash string) {
		for _, name := range names {
			one, err := page.ReadFile("page/" + name)
			if err != nil {
				panic(err) // they are in the binary
			}
			text += string(one)
		}
		sum := sha256.Sum256([]byte(text))
		return text, "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	out.script, out.scriptHash = read("sha256.js", "proof.js", "diff.js", "draw.js", "book.js")
	out.style, out.styleHash = read("style.css")
	return out
})

type parts struct{ script, style, scriptHash, styleHash string }

// TranscriptPolicy is the Content-Security-Policy of every file.
func TranscriptPolicy() string {
	p := pieces()
	return "default-src 'none'; script-src " + p.scriptHash + "; style-src " + p.styleHash + "; img-src data:; base-uri 'none'; form-action 'none'"
}

// Write writes the file.
func (b *Transcript) Write(w io.Writer) error {
	data, err := json.Marshal(b) // escapes <, > and &: nothing in it can end the element
	if err != nil {
		return fmt.Errorf("write a transcript: %w", err)
	}
	sum := sha256.Sum256(data)
	title := "ramet"
	if len(b.Agents) > 0 {
		title = b.Agents[0].label()
	}
	p := pieces()
	for _, s := range []string{
		"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"", TranscriptPolicy(), "\">\n",
		"<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>", html.EscapeString(title),
		"</title>\n<style>", p.style, "</style>\n</head>\n<body>\n<p id=\"verdict\" role=\"status\">Nothing was checked: the script of this file did not run. ",
		"Scripts are switched off, or the file was changed.</p>\n<div id=\"page\"></div>\n<script type=\"application/json\" id=\"data\" data-sha256=\"",
		hex.EncodeToString(sum[:]), "\">", string(data), "</script>\n<script>", p.script, "</script>\n</body>\n</html>\n",
	} {
		if _, err := io.WriteString(w, s); err != nil {
			return fmt.Errorf("write a transcript: %w", err)
		}
	}
	return nil
}

func (a TranscriptAgent) label() string {
	if a.Name != "" {
		return strings.ToValidUTF8(a.Name, "\uFFFD")
	}
	return a.UUID.Short()
}
