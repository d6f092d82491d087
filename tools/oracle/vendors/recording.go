package vendors

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Protocol is how a recording speaks.
type Protocol string

// The protocols. Bedrock is Anthropic's in Amazon's frames.
const (
	Anthropic Protocol = "anthropic"
	Bedrock   Protocol = "anthropic, framed"
	Responses Protocol = "openai-responses"
	Chat      Protocol = "openai-chat"
	Gemini    Protocol = "gemini"
)

// Recording is one answer of a vendor, as it came.
type Recording struct {
	Name     string // module, test and place in its cassette
	Host     string
	Protocol Protocol
	Type     string // of the content
	Body     []byte
	Asked    []byte // the body of the request that it answers
}

type cassette struct {
	Interactions []struct {
		Request struct {
			URL  string `yaml:"url"`
			Body string `yaml:"body"`
		} `yaml:"request"`
		Response struct {
			Body    string              `yaml:"body"`
			Headers map[string][]string `yaml:"headers"`
			Code    int                 `yaml:"code"`
		} `yaml:"response"`
	} `yaml:"interactions"`
}

// Read reads the streams of all sources, each once: versions of a module share
// most of their recordings.
func Read() ([]Recording, error) {
	var out []Recording
	seen := map[[32]byte]bool{}
	for _, s := range Sources {
		dir, err := s.Dir()
		if err != nil {
			return nil, err
		}
		files, err := Cassettes(dir)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			name, _ := filepath.Rel(dir, file)
			list, err := readCassette(file, s.Version+"/"+strings.TrimPrefix(name, "providertests/testdata/"))
			if err != nil {
				return nil, err
			}
			for _, r := range list {
				if sum := sha256.Sum256(r.Body); !seen[sum] {
					seen[sum] = true
					out = append(out, r)
				}
			}
		}
	}
	return out, nil
}

func readCassette(file, name string) ([]Recording, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var c cassette
	if err := yaml.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	var out []Recording
	for i, one := range c.Interactions {
		kind := ""
		for header, values := range one.Response.Headers {
			if strings.EqualFold(header, "Content-Type") && len(values) > 0 {
				kind = values[0]
			}
		}
		if one.Response.Code != 200 || !strings.Contains(kind, "event") { // text/event-stream, application/vnd.amazon.eventstream
			continue
		}
		u, err := url.Parse(one.Request.URL)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		protocol, ok := protocolOf(u.Path, kind)
		if !ok {
			return nil, fmt.Errorf("read %s: nobody knows the protocol of %s", name, u.Path)
		}
		out = append(out, Recording{
			Name: fmt.Sprintf("%s#%d", strings.TrimSuffix(name, ".yaml"), i), Host: u.Host, Protocol: protocol,
			Type: kind, Body: []byte(one.Response.Body), Asked: []byte(one.Request.Body),
		})
	}
	return out, nil
}

func protocolOf(path, kind string) (Protocol, bool) {
	switch {
	case strings.Contains(kind, "amazon.eventstream"):
		return Bedrock, true
	case strings.HasSuffix(path, "/responses"):
		return Responses, true
	case strings.HasSuffix(path, "/chat/completions"):
		return Chat, true
	case strings.HasSuffix(path, ":streamGenerateContent"):
		return Gemini, true
	case strings.HasSuffix(path, "/messages"), strings.HasSuffix(path, ":streamRawPredict"):
		return Anthropic, true
	}
	return "", false
}
