package store

import (
	"github.com/klauspost/compress/zstd"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/late"
)

// maxBlob bounds what a damaged or hostile blob may unpack to.
const maxBlob = 256 << 20

// The codecs are costly to make and cheap to share; most commands need none.
var (
	packer = late.Value[*zstd.Encoder]{Make: func() *zstd.Encoder {
		return late.Must(zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)))
	}}
	unpacker = late.Value[*zstd.Decoder]{Make: func() *zstd.Decoder {
		return late.Must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlob)))
	}}
)

func pack(data []byte) []byte { return packer.Get().EncodeAll(data, nil) }

func unpack(h chain.Hash, packed []byte) ([]byte, error) {
	data, err := unpacker.Get().DecodeAll(packed, nil)
	if err != nil {
		return nil, fault.New(fault.HistoryDamaged, "blob %s is not readable: %w", h, err)
	}
	return data, nil
}
