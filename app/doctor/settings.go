package doctor

import "punctual/app/config"

// settings warns of settings that are valid but seldom meant for daily use.
func settings(c *config.Config) []Finding {
	var found []Finding
	if open := !c.HTTP.Local(); open && !c.HTTP.Secure() {
		found = append(found, warning("Set http.base_url to the https: address of the proxy, or configure http.tls.",
			"http.addr %s accepts connections from other machines, and http.base_url is not https: passwords are sent unencrypted", c.HTTP.Addr)...)
	} else if open && !c.HTTP.TLS.Enabled() && len(c.HTTP.TrustedProxies) == 0 {
		found = append(found, warning("Set http.trusted_proxies to the addresses of the proxy.",
			"no proxy is trusted, so all requests seem to come from the proxy's address and share its limits")...)
	}
	if c.Queue.URL == "memory:" && !sqlite(c.Database.URL) {
		found = append(found, warning("Set queue.url to a Redis server if more than one instance runs.",
			"the queue is in memory, so only one instance may run on this database")...)
	}
	if c.Queue.URL != "memory:" && sqlite(c.Database.URL) {
		found = append(found, warning("Set queue.url to memory:, or database.url to a Postgres server.",
			"Redis does not help on SQLite, which one machine alone can use")...)
	}
	if found == nil {
		return ok("suitable for daily use")
	}
	return found
}
