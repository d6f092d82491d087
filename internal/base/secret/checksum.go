package secret

import (
	"fmt"
	"hash/crc32"
	"math/bits"
	"strings"
)

// Some vendors publish a checksum for their keys. A right one proves a key wherever it
// stands, with letters glued to it too. A wrong one proves nothing: a key with a slip of
// the pen is mostly a key.

// base62 is the order of digits that GitHub and npm use.
const base62 = digits + large + small

// crcOfGitHub reports whether the last six characters are the CRC-32 of those between the prefix and
// them, in base 62.
func crcOfGitHub(key string) bool {
	at := strings.IndexByte(key, '_') + 1
	if len(key)-at < 7 {
		return false
	}
	body, want := key[at:len(key)-6], key[len(key)-6:]
	sum := crc32.ChecksumIEEE([]byte(body))
	for i := 5; i >= 0; i-- {
		if want[i] != base62[sum%62] {
			return false
		}
		sum /= 62
	}
	return true
}

// crcOfGrafana reports whether the last eight characters are the CRC-32 of what stands before the last
// underscore, in hex, the lowest byte first.
func crcOfGrafana(key string) bool {
	at := strings.LastIndexByte(key, '_')
	if at < 0 {
		return false
	}
	sum := bits.ReverseBytes32(crc32.ChecksumIEEE([]byte(key[:at])))
	return strings.EqualFold(key[at+1:], fmt.Sprintf("%08x", sum))
}

// sumOfBech32 returns the checksum of BIP 173, which age takes for its keys.
func sumOfBech32(key string) bool {
	sum, ok := bech32Remainder(key)
	return ok && sum == 1
}

const bech32Letters = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

// bech32Remainder returns the remainder of a key, 1 for a right one; ok when it has only characters of a
// key.
func bech32Remainder(key string) (sum uint32, ok bool) {
	key = strings.ToLower(key)
	at := strings.LastIndexByte(key, '1')
	if at < 1 {
		return 0, false
	}
	sum = 1
	for i := range at {
		sum = bech32Step(sum, uint32(key[i]>>5))
	}
	sum = bech32Step(sum, 0)
	for i := range at {
		sum = bech32Step(sum, uint32(key[i]&31))
	}
	for i := at + 1; i < len(key); i++ {
		v := strings.IndexByte(bech32Letters, key[i])
		if v < 0 {
			return 0, false
		}
		sum = bech32Step(sum, uint32(v))
	}
	return sum, true
}

func bech32Step(sum, v uint32) uint32 {
	top := sum >> 25
	sum = sum&0x1ffffff<<5 ^ v
	for i, g := range [...]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
		if top>>i&1 == 1 {
			sum ^= g
		}
	}
	return sum
}
