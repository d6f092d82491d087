package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"io"
	"net/http"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
)

// inFrame writes a frame as Amazon does.
func inFrame(headers [][2]string, payload string) []byte {
	var head []byte
	for _, h := range headers {
		head = append(append(append(head, byte(len(h[0]))), h[0]...), 7)
		head = append(binary.BigEndian.AppendUint16(head, uint16(len(h[1]))), h[1]...)
	}
	out := binary.BigEndian.AppendUint32(nil, uint32(16+len(head)+len(payload)))
	out = binary.BigEndian.AppendUint32(out, uint32(len(head)))
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
	out = append(append(out, head...), payload...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
}

func chunkOf(event string) []byte {
	payload, _ := json.Marshal(map[string]string{"bytes": base64.StdEncoding.EncodeToString([]byte(event))})
	return inFrame([][2]string{{":event-type", "chunk"}, {":message-type", "event"}}, string(payload))
}

// words ends with the event END.
type words struct{ said string }

func (w *words) Next(_ string, data []byte) ([]llm.Event, bool, error) {
	w.said += string(data)
	return nil, false, nil
}

func (w *words) Close() ([]llm.Event, llm.Finish, bool) {
	return nil, llm.Finish{Reason: llm.Stop, Raw: "END"}, strings.HasSuffix(w.said, "END")
}

type recorded []byte

func (a recorded) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {framed}}, Body: io.NopCloser(bytes.NewReader(a))}, nil
}

func hearFrames(t *testing.T, text []byte) (string, error) {
	t.Helper()
	c := &Client{Vendor: "v", Base: "http://h", HTTP: recorded(text)}
	w := &words{}
	_, _, _, err := llm.Collect(c.Stream(t.Context(), llm.Bytes{Path: "/"}, w))
	return w.said, err
}

func TestFrames(t *testing.T) {
	whole := append(append(chunkOf("a"), inFrame([][2]string{{":event-type", "ping"}}, "{}")...), chunkOf("END")...)
	if said, err := hearFrames(t, whole); err != nil || said != "aEND" {
		t.Fatalf("%q %v", said, err)
	}
	for n := range whole {
		if _, err := hearFrames(t, whole[:n]); !fault.Is(err, fault.StreamCut) {
			t.Fatalf("cut after %d bytes: %v", n, err)
		}
	}
	for i := range whole {
		broken := bytes.Clone(whole)
		broken[i] ^= 0x10
		if _, err := hearFrames(t, broken); !fault.Is(err, fault.ProviderProtocol) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
	}
}

func TestExceptionsInFrames(t *testing.T) {
	for name, code := range map[string]fault.Code{
		"throttlingException": fault.ProviderRateLimit, "serviceUnavailableException": fault.ProviderOverloaded,
		"validationException": fault.ProviderBadRequest, "internalServerException": fault.ProviderOverloaded,
	} {
		text := append(chunkOf("a"), inFrame([][2]string{{":message-type", "exception"}, {":exception-type", name}}, `{"message":"no more"}`)...)
		if _, err := hearFrames(t, text); !fault.Is(err, code) || !strings.Contains(err.Error(), "no more") {
			t.Errorf("%s: %s %v", name, fault.CodeOf(err), err)
		}
	}
}
