package llm

// Price is the price of one token, in pico-dollars (10⁻¹² USD), which is the
// price of a million tokens in micro-dollars.
type Price struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`           // 0: as Input
	CacheWrite int64 `json:"cache_write"`          // 0: as Input
	CacheHour  int64 `json:"cache_hour,omitempty"` // into a cache that lasts an hour; 0: twice Input
	Long       Long  `json:"long,omitzero"`
	Search     int64 `json:"search,omitempty"` // of one search of the web, in pico-dollars too
}

// Long is the charge for a whole call whose context is long, in percent of
// the usual price.
type Long struct {
	Above  int64 `json:"above"` // tokens read, from a cache or not; 0: there is no such price
	Input  int64 `json:"input"` // also of what goes into or comes from a cache
	Output int64 `json:"output"`
}

// Cost returns what a usage costs, rounded up to whole nano-dollars: what the vendor
// billed, or else its price.
func (p Price) Cost(u Usage) Money {
	if u.Billed > 0 {
		return u.Billed
	}
	read, write, hour := p.CacheRead, p.CacheWrite, p.CacheHour
	if read == 0 {
		read = p.Input
	}
	if write == 0 {
		write = p.Input
	}
	if hour == 0 {
		hour = 2 * p.Input
	}
	kept := min(u.CacheHour, u.CacheWrite)
	in := u.Input*p.Input + u.CacheRead*read + (u.CacheWrite-kept)*write + kept*hour
	out := u.Output * p.Output
	if l := p.Long; l.Above > 0 && u.Input+u.CacheRead+u.CacheWrite > l.Above {
		in, out = in/100*l.Input, out/100*l.Output
	}
	return Money((in + out + u.Searches*p.Search + 999) / 1000)
}
