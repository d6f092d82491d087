package tui

// key recalls a former prompt where the cursor stands at the edge.
func (p *past) key(m *root, name string) bool {
	in := &m.now.input
	said := m.memory.Said
	switch {
	case name == "up" && in.atTop() && p.at > 0 && p.at <= len(said):
		if p.at == len(said) {
			p.draft = in.text()
		}
		p.at--
	case name == "down" && in.atBottom() && p.at < len(said):
		p.at++
	default:
		return false
	}
	recalled := p.draft
	if p.at < len(said) {
		recalled = said[p.at]
	}
	in.set(recalled, len(recalled))
	m.dirty = true
	return true
}
