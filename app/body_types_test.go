package app

import (
	"strings"
	"testing"
)

// A value of the wrong type is answered without the words of the decoder and without the value.
func TestBody_wrongTypesOfAway(t *testing.T) {
	a, s := startApplication(t, nil)
	token := signIn(t, a, s)
	for _, value := range []string{"1", "true", "[]", "{}", `"x-secret"`, `"2027-13-45T99:00:00Z"`, "null", `"2027-01-01t00:00:00z"`, "1e400", `""`} {
		for _, field := range []string{"from", "until", "deputy_id"} {
			res := send(t, s, "PATCH", "/api/v1/me", `{"away":{"from":"2027-01-01T00:00:00Z","until":"2027-02-01T00:00:00Z","`+field+`":`+value+`}}`, "Authorization", "Bearer "+token)
			for _, word := range []string{"json:", "parsing", "Unmarshal", "Go ", "secret", "strconv", "time.Time"} {
				if strings.Contains(res.body, word) {
					t.Errorf("%s %s: %s", field, value, res.body)
				}
			}
			if res.status >= 500 {
				t.Errorf("%s %s: %d", field, value, res.status)
			}
		}
	}
}
