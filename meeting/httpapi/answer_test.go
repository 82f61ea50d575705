package httpapi

import (
	"bytes"
	"strings"
	"testing"

	"punctual/meeting"
)

// A link is for what it was made for, and no other.
func TestAnswerLinks(t *testing.T) {
	t.Parallel()
	links := NewLinks("https://rooms.example.org", bytes.Repeat([]byte{7}, 32))
	invitation, offer := meeting.Invitation{MeetingID: 12, SeriesID: 3, Email: "a@example.org"}, meeting.Offer{WaitID: 12, UserID: 3}
	_, token, _ := strings.Cut(links.InvitationURL(invitation), "/respond?token=")
	if got, ok := links.readInvitation(token); !ok || got != invitation {
		t.Errorf("an invitation: %+v, %v", got, ok)
	}
	if _, ok := links.readOffer(token); ok {
		t.Error("an invitation passes for an offer")
	}
	if _, ok := links.readArrival(token); ok {
		t.Error("an invitation passes for a check-in")
	}
	_, token, _ = strings.Cut(links.OfferURL(offer), "/offer?token=")
	if got, ok := links.readOffer(token); !ok || got != offer {
		t.Errorf("an offer: %+v, %v", got, ok)
	}
	for _, read := range []bool{
		func() bool { _, ok := links.readInvitation(token); return ok }(),
		func() bool { _, ok := links.read(token); return ok }(),
	} {
		if read {
			t.Error("an offer passes for something else")
		}
	}
}

// Every language says everything.
func TestAnswerWords(t *testing.T) {
	t.Parallel()
	for name, words := range map[string]map[string]map[string]stateWords{"respond": respondStates, "offer": offerStates} {
		for state, s := range words["en"] {
			for _, lang := range []string{"de", "zh-CN"} {
				got := words[lang][state]
				if got.Tag == "" || got.Lead == "" || strings.Contains(s.Lead, "{who}") != strings.Contains(got.Lead, "{who}") ||
					strings.Contains(s.Lead, "{when}") != strings.Contains(got.Lead, "{when}") {
					t.Errorf("%s: %s: %s: %+v", name, lang, state, got)
				}
			}
		}
	}
	for _, lang := range []string{"en", "de", "zh-CN"} {
		if len(respondLabels[lang]) != 3 || !strings.Contains(respondConfirm[lang], "{choice}") || respondOptional[lang] == "" || offerLabels[lang][1] == "" {
			t.Errorf("%s: %v %v", lang, respondLabels[lang], offerLabels[lang])
		}
	}
}
