package store

import (
	"sync"

	"github.com/klauspost/compress/zstd"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
)

// maxBlob bounds what a damaged or hostile blob may unpack to.
const maxBlob = 256 << 20

// The codecs are costly to make and cheap to share; most commands need none.
var (
	packer = sync.OnceValue(func() *zstd.Encoder {
		return fault.Must(zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)))
	})
	unpacker = sync.OnceValue(func() *zstd.Decoder {
		return fault.Must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlob)))
	})
)

func packBlob(data []byte) []byte { return packer().EncodeAll(data, nil) }

func unpackBlob(h chain.Hash, packed []byte) ([]byte, error) {
	data, err := unpacker().DecodeAll(packed, nil)
	if err != nil {
		return nil, fault.New(fault.HistoryDamaged, "blob %s is not readable: %w", h, err)
	}
	return data, nil
}
