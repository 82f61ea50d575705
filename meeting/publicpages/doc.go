// Package publicpages serves the public calendar, which everybody can read without signing in. Its pages
// need no scripts, and show what the service returns as public: never people, descriptions or titles of
// private meetings.
package publicpages
