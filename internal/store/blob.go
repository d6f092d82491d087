package store

import (
	"sync"

	"github.com/klauspost/compress/zstd"

	"ramet/internal/chain"
	"ramet/internal/fault"
)

// maxBlob bounds what a damaged or hostile blob may unpack to.
const maxBlob = 256 << 20

// The codecs are costly to make and cheap to share; most commands need none.
var (
	packer   = sync.OnceValues(func() (*zstd.Encoder, error) { return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)) })
	unpacker = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlob))
	})
)

func pack(data []byte) ([]byte, error) {
	enc, err := packer()
	if err != nil {
		return nil, err
	}
	return enc.EncodeAll(data, nil), nil
}

func unpack(h chain.Hash, packed []byte) ([]byte, error) {
	dec, err := unpacker()
	if err != nil {
		return nil, err
	}
	data, err := dec.DecodeAll(packed, nil)
	if err != nil {
		return nil, fault.New(fault.HistoryDamaged, "blob %s is not readable: %w", h, err)
	}
	return data, nil
}
