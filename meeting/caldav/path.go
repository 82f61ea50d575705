package caldav

import (
	"net/url"
	"strconv"
	"strings"
)

// Root is the path of everything here.
const Root = "/dav/"

type kind int

const (
	unknown       kind = iota
	host               // /, which programs ask that know the name of the server alone
	root               // /dav/
	principals         // /dav/principals/, /dav/principals/users/, /dav/principals/rooms/
	userPrincipal      // /dav/principals/users/1/
	roomPrincipal      // /dav/principals/rooms/1/
	calendars          // /dav/calendars/
	home               // /dav/calendars/users/1/ or /dav/calendars/rooms/1/
	calendar           // .../meetings/
	inbox
	outbox
	object // .../meetings/NAME
)

// place is what a path names.
type place struct {
	kind kind
	room bool  // of a room, not of a user
	id   int64 // of the user or room
	name string
}

// parsePath takes a path without escapes.
func parsePath(path string) place {
	rest, ok := strings.CutPrefix(path, Root)
	if !ok {
		switch path {
		case "/":
			return place{kind: host}
		case strings.TrimSuffix(Root, "/"):
			return place{kind: root}
		}
		return place{}
	}
	parts := strings.Split(strings.TrimSuffix(rest, "/"), "/")
	switch {
	case len(parts) == 1 && parts[0] == "":
		return place{kind: root}
	case parts[0] != "principals" && parts[0] != "calendars":
		return place{}
	case len(parts) == 1 && parts[0] == "principals", len(parts) == 2 && parts[0] == "principals" && isOwner(parts[1]):
		return place{kind: principals}
	case len(parts) == 1:
		return place{kind: calendars}
	case len(parts) < 3 || !isOwner(parts[1]):
		return place{}
	}
	id, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil || id <= 0 || strconv.FormatInt(id, 10) != parts[2] {
		return place{}
	}
	p := place{room: parts[1] == "rooms", id: id}
	if parts[0] == "principals" {
		if p.kind = userPrincipal; p.room {
			p.kind = roomPrincipal
		}
		if len(parts) > 3 {
			return place{}
		}
		return p
	}
	switch {
	case len(parts) == 3:
		p.kind = home
	case len(parts) == 4 && parts[3] == "meetings":
		p.kind = calendar
	case len(parts) == 4 && parts[3] == "inbox" && !p.room:
		p.kind = inbox
	case len(parts) == 4 && parts[3] == "outbox" && !p.room:
		p.kind = outbox
	case len(parts) == 5 && parts[3] == "meetings" && parts[4] != "" && len(parts[4]) <= maxName:
		p.kind, p.name = object, parts[4]
	default:
		return place{}
	}
	return p
}

// maxName limits the names that calendar programs give their events, in bytes.
const maxName = 250

func isOwner(text string) bool { return text == "users" || text == "rooms" }

func (p place) owner() string {
	if p.room {
		return "rooms/" + strconv.FormatInt(p.id, 10) + "/"
	}
	return "users/" + strconv.FormatInt(p.id, 10) + "/"
}

// path returns the path of the place, with escapes.
func (p place) path() string {
	switch p.kind {
	case host:
		return "/"
	case principals:
		return Root + "principals/"
	case userPrincipal, roomPrincipal:
		return Root + "principals/" + p.owner()
	case calendars:
		return Root + "calendars/"
	case home:
		return Root + "calendars/" + p.owner()
	case calendar:
		return Root + "calendars/" + p.owner() + "meetings/"
	case inbox:
		return Root + "calendars/" + p.owner() + "inbox/"
	case outbox:
		return Root + "calendars/" + p.owner() + "outbox/"
	case object:
		return Root + "calendars/" + p.owner() + "meetings/" + url.PathEscape(p.name)
	default:
		return Root
	}
}

func (p place) with(k kind, name string) place {
	p.kind, p.name = k, name
	return p
}

// principal of the owner.
func (p place) principal() place {
	if p.room {
		return p.with(roomPrincipal, "")
	}
	return p.with(userPrincipal, "")
}
