package tests

import (
	"os"
	"testing"
	"time"
)

func TestScratch(t *testing.T) {
	server := demonstration(t)
	b := browse(t, server)
	b.signIn("ada@example.org", demoPassword)
	b.open("/")
	b.await("document.querySelector('.ec-row-head, [role=rowheader]')")
	time.Sleep(500 * time.Millisecond)
	b.shot("desk")
	eval[bool](b, "(document.querySelector('[popovertarget=day-features]').click(), true)")
	time.Sleep(300 * time.Millisecond)
	b.shot("features")
	b.key("\x1b")
	eval[bool](b, "(document.activeElement.blur(), true)")
	b.key("?")
	b.await("document.querySelector('dialog[open]')")
	time.Sleep(300 * time.Millisecond)
	b.accessible("keys")
	b.shot("keys")
	b.key("\x1b")
	b.choose("#menu-language", "de")
	time.Sleep(500 * time.Millisecond)
	b.shot("desk-de")
	b.size(phone)
	time.Sleep(500 * time.Millisecond)
	b.shot("phone")
	eval[bool](b, "(document.querySelector('.toggle').click(), true)")
	time.Sleep(300 * time.Millisecond)
	b.shot("phone-filters")
	_ = os.Args
}
