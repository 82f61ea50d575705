package redislimit

// Renew does at once what is done every few seconds.
func (p *Places) Renew() { p.renew() }
