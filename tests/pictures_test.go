//go:build pictures

package tests

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"punctual/tests/testenv"
)

// largestPicture is what a reader of the documentation is asked to load.
const largestPicture = 150 << 10

func init() { unblurred = "" }

// TestPictures draws the pictures of the documentation from the demonstration: make pictures.
func TestPictures(t *testing.T) {
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	alan := server.Login(t, "alan@example.org", demoPassword)
	grace := server.Login(t, "grace@example.org", demoPassword)
	rooms := testenv.All[testenv.Room](t, ada, "/rooms?limit=500")

	// The fullest day that is to come.
	on := map[string]int{}
	for _, m := range testenv.All[testenv.Meeting](t, ada, "/meetings?limit=500") {
		if m.Start.After(time.Now().Add(12 * time.Hour)) {
			on[m.Start.Format(time.DateOnly)]++
		}
	}
	date, most := "", 0
	for d, n := range on {
		if n > most || n == most && d < date {
			date, most = d, n
		}
	}

	// A day in which something happens now.
	door := ada.NewRoom(t, "Curie", with{"timezone": "Europe/Berlin", "capacity": 8, "floor": "3", "features": []string{"projector", "video"}})
	now := time.Now().UTC().Truncate(time.Second)
	invite := func(by *testenv.Client, from, to time.Duration, title string, guests ...string) {
		people := []any{}
		for _, g := range guests {
			people = append(people, with{"email": g})
		}
		by.Want(t, http.StatusCreated, http.MethodPost, "/meetings", testenv.Booking(now.Add(from), now.Add(to), []int64{door.ID}, with{"title": title, "attendees": people}), nil)
	}
	invite(alan, 0, 50*time.Minute, "Design review", "grace@example.org")
	invite(grace, time.Hour, 90*time.Minute, "Interview", "alan@example.org")
	invite(alan, 2*time.Hour, 3*time.Hour, "Quarterly planning", "ada@example.org", "grace@example.org")
	invite(ada, 195*time.Minute, 225*time.Minute, "Retrospective", "alan@example.org")

	// And a fuller one; what does not fit is left out.
	for i, title := range []string{"Design review", "Budget", "Interview", "Release planning", "Retrospective", "Supplier call", "Training", "Team lunch", "Board", "Data protection",
		"Quarterly planning", "Kick-off", "Support rota", "Architecture", "Hiring", "Sales call", "Demo", "Safety walk"} {
		from := zoned(t, date, "08:00").Add(time.Duration(i*35/15*15) * time.Minute % (9 * time.Hour))
		by := []*testenv.Client{alan, grace, ada}[i%3]
		by.Do(t, http.MethodPost, "/meetings", testenv.Booking(from, from.Add(time.Duration(45+i%3*30)*time.Minute), []int64{rooms[(i*5+i/6)%len(rooms)].ID}, with{"title": title}))
	}

	b := browse(t, server)
	wide := func() { b.do(chromedp.EmulateViewport(1440, 860)) }
	wide()
	b.signIn("alan@example.org", demoPassword)
	view := func(name, path, shows string) {
		t.Helper()
		b.dark(false)
		b.open(path)
		b.await("document.querySelector(%q)", shows)
		b.settled()
		b.picture(name)
	}
	view("day", "/?date="+date, "main")
	view("week", "/week?date="+date, "main")
	view("month", "/month?date="+date, "main")
	view("mine", "/mine", "main h1")
	view("booking", at("/?date=%s&book=%d", date, rooms[0].ID), "dialog[open]")
	b.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateScale(2), chromedp.EmulateMobile))
	view("phone", "/mine", "main h1")
	wide()
	eval[bool](b, "fetch('/api/v1/auth/logout', { method: 'POST' }).then(() => true)")
	b.signIn("ada@example.org", demoPassword)
	b.open("/admin/rooms")
	b.settled()
	figures := eval[string](b, `[...document.querySelectorAll('a[href^="/admin/"]')].map((a) => a.pathname).find((p) => /utili|usage|rooms-used|use$|reports/.test(p)) ?? '/admin/rooms'`)
	view("admin", figures, "main")
	b.touch(1280, 800)
	b.hang(ada, door)
	b.await("document.querySelector('.code svg')")
	b.settled()
	b.picture("door")
}

// picture keeps what the tab shows in docs, small: with the 256 colours that are used most.
func (b *tab) picture(name string) {
	b.t.Helper()
	raw, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	drawn, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		b.t.Fatal(err)
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&out, fewColours(drawn)); err != nil {
		b.t.Fatal(err)
	}
	b.t.Logf("%s.png: %d kB", name, out.Len()>>10)
	if out.Len() > largestPicture {
		b.t.Errorf("%s.png has %d bytes, more than %d", name, out.Len(), largestPicture)
	}
	if err := os.WriteFile(filepath.Join("..", "docs", name+".png"), out.Bytes(), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// fewColours draws a picture with its 256 commonest colours; a page has few, and edges of letters
// take the nearest.
func fewColours(from image.Image) *image.Paletted {
	type shade [3]uint8
	at := func(x, y int) shade {
		r, g, b, _ := from.At(x, y).RGBA()
		return shade{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8)}
	}
	bounds := from.Bounds()
	count := map[shade]int{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	shades := make([]shade, 0, len(count))
	for s := range count {
		shades = append(shades, s)
	}
	slices.SortFunc(shades, func(a, b shade) int {
		return cmp.Or(count[b]-count[a], slices.Compare(a[:], b[:]))
	})
	apart := func(a, b shade) (d int) {
		for i := range a {
			d += (int(a[i]) - int(b[i])) * (int(a[i]) - int(b[i]))
		}
		return d
	}
	var palette color.Palette
	var chosen []shade
	index := map[shade]uint8{}
	for _, s := range shades {
		best := -1
		for i, c := range chosen {
			if best < 0 || apart(s, c) < apart(s, chosen[best]) {
				best = i
			}
		}
		if best < 0 || len(chosen) < 256 && apart(s, chosen[best]) > 12 {
			best = len(chosen)
			chosen = append(chosen, s)
			palette = append(palette, color.RGBA{s[0], s[1], s[2], 255})
		}
		index[s] = uint8(best)
	}
	to := image.NewPaletted(image.Rect(0, 0, bounds.Dx(), bounds.Dy()), palette)
	for y := range bounds.Dy() {
		for x := range bounds.Dx() {
			to.SetColorIndex(x, y, index[at(bounds.Min.X+x, bounds.Min.Y+y)])
		}
	}
	return to
}
