package mrbs

import (
	"cmp"
	"strings"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/importing/moving"
	"punctual/meeting/importing/sqldump"
)

func (r *reader) readPeople() {
	r.table("users").All(func(row sqldump.Row) {
		login := row.Text("name")
		if login == "" || r.logins[fold(login)] {
			return
		}
		r.logins[fold(login)] = true
		p := moving.Person{Key: fold(login), Name: cmp.Or(strings.TrimSpace(row.Text("display_name")), login), Email: strings.TrimSpace(row.Text("email")), Role: meeting.Member}
		if row.Int("level") >= 2 {
			p.Role = meeting.Admin
		}
		if row.Int("level") <= 0 {
			r.note("person "+login, "may only read there; here everyone who signs in may book")
		}
		r.data.People = append(r.data.People, p)
	})
}

// fold makes logins equal that MRBS takes for one.
func fold(login string) string { return strings.ToLower(strings.TrimSpace(login)) }

// person returns the key of a login, whose user may have been deleted.
func (r *reader) person(login string) string {
	login = strings.TrimSpace(login)
	k := cmp.Or(fold(login), "nobody")
	if !r.logins[k] {
		r.logins[k] = true
		p := moving.Person{Key: k, Name: cmp.Or(login, "Nobody"), Role: meeting.Member, Left: true}
		if fault.IsEmail(login) { // some sign in with their address
			p.Email = login
		}
		r.data.People = append(r.data.People, p)
	}
	return k
}

func (r *reader) readParticipants() {
	r.participants = map[int64][]moving.Attendee{}
	r.table("participants").All(func(row sqldump.Row) {
		login := row.Text("username")
		if login == "" {
			return
		}
		entry := row.Int("entry_id")
		r.participants[entry] = append(r.participants[entry], moving.Attendee{Key: r.person(login), Response: meeting.Accepted})
	})
}
