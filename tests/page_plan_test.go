package tests

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestPagePlan: an admin uploads a plan and places rooms by keyboard, mouse and numbers; then anyone sees on it
// which room is free, now and later, and books from it.
func TestPagePlan(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	turing, hopper := roomNamed(t, ada, "Turing"), roomNamed(t, ada, "Hopper")
	b := browse(t, server)
	b.open("/")
	b.signIn("ada@example.org", demoPassword)

	b.open("/admin/floorPlans")
	b.press("New floor plan")
	file := filepath.Join(t.TempDir(), "plan.svg")
	if err := os.WriteFile(file, []byte(planSVG), 0o600); err != nil {
		t.Fatal(err)
	}
	b.fill("Floor", "7")
	b.do(chromedp.SetUploadFiles("input[name=plan]", []string{file}))
	b.press("Create")
	b.await("document.querySelector('dialog fieldset .sheet img')?.naturalWidth > 0")
	b.choose("dialog .row select", at("%d", turing.ID))
	b.await("document.activeElement.dataset.room === '%d'", turing.ID)
	b.key(kb.ArrowRight)
	b.fill("Top, %", "40")
	b.choose("dialog .row select", at("%d", hopper.ID))
	b.choose("dialog .numbers select", "point")
	b.accessible("editor of a floor plan")
	b.shot("plan-editor")
	b.press("Save")
	b.await("!document.querySelector('dialog[open]')")
	type plans struct {
		Items []struct {
			ID    int64
			Floor string
			Rooms []struct {
				RoomID int64 `json:"room_id"`
				X, Y   float64
				Width  float64
			}
		}
	}
	var list plans
	ada.Want(t, http.StatusOK, http.MethodGet, "/floor-plans", nil, &list)
	var id int64
	for _, p := range list.Items {
		if p.Floor == "7" {
			id = p.ID
			if len(p.Rooms) != 2 || p.Rooms[0].X != 0.055 || p.Rooms[0].Y != 0.4 || p.Rooms[1].Width != 0 {
				t.Errorf("placed %+v", p.Rooms)
			}
		}
	}

	// A day without meetings, at ten.
	date := quietDay()
	b.open(at("/plan?plan=%d&date=%s&at=10:00", id, date))
	b.await("document.querySelector('[data-room=\"%d\"]')?.ariaLabel?.includes('Free ')", turing.ID)
	b.accessible("plan")
	b.shot("plan")
	b.size(phone)
	b.settled()
	b.inWidth("plan")
	b.shot("plan-phone")
	b.size(desk)
	ada.Book(t, with{"room_ids": []int64{turing.ID}, "title": "Blocker", "start": date + "T10:00:00", "end": date + "T11:00:00"})
	b.await("document.querySelector('.spot.busy[data-room=\"%d\"]')?.ariaLabel.includes('Busy until 11')", turing.ID)

	// Arrows go from room to room; Enter books from when the room is free.
	b.focus(at(".spot[data-room='%d']", hopper.ID))
	b.await("document.querySelector('.about')?.innerText.includes('Hopper')")
	b.key(kb.ArrowLeft)
	b.await("document.querySelector('.about')?.innerText.includes('Busy until 11')")
	b.key(kb.Enter)
	b.await("document.querySelector('dialog[open]')?.innerText.includes('Turing')")
	b.fill("Title", "On the plan")
	b.key(kb.Enter)
	b.await("document.querySelector('.spot.busy[data-room=\"%d\"]')?.ariaLabel.includes('Busy until 12')", turing.ID)
	if m := find(t, ada, "On the plan"); m.RoomIDs[0] != turing.ID {
		t.Errorf("booked %+v", m)
	}
}
