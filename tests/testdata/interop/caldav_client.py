"""Does with python3-caldav what calendar programs do.

Arguments: the server's address, email address, app password, the mail address of a room, and start and
end of a time when the room is free.
"""

import sys

import caldav

server, email, password, room, start, end = sys.argv[1:]
client = caldav.DAVClient(url=server, username=email, password=password)
calendars = client.principal().calendars()
assert [str(c) for c in calendars] and len(calendars) == 1, calendars
calendar = calendars[0]
assert calendar.events() == [], calendar.events()
objects = calendar.objects_by_sync_token(load_objects=True)
assert len(list(objects)) == 0


def event(title, uid="python"):
    return "\r\n".join([
        "BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//python//EN", "BEGIN:VEVENT", "UID:" + uid, "DTSTAMP:20261123T080000Z",
        "DTSTART:" + start, "DTEND:" + end, "SUMMARY:" + title, "ORGANIZER:mailto:" + email,
        "ATTENDEE;CUTYPE=ROOM;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:" + room, "END:VEVENT", "END:VCALENDAR", ""])


def attendee(e):
    return e.icalendar_instance.walk("VEVENT")[0]["ATTENDEE"].params["PARTSTAT"]


calendar.save_event(event("From Python"))
calendar.save_event(event("Too late", "late"))
mine, late = calendar.event_by_uid("python"), calendar.event_by_uid("late")
assert attendee(mine) == "ACCEPTED", mine.data
assert attendee(late) == "DECLINED", late.data
assert mine.icalendar_instance.walk("VEVENT")[0]["LOCATION"] == "Turing", mine.data
changed = calendar.objects_by_sync_token(sync_token=objects.sync_token, load_objects=True)
assert len(list(changed)) == 2, list(changed)

mine.icalendar_instance.walk("VEVENT")[0]["SUMMARY"] = "Changed by Python"
mine.save()
mine.load()
assert "SUMMARY:Changed by Python" in mine.data, mine.data
assert attendee(mine) == "ACCEPTED", mine.data
again = calendar.objects_by_sync_token(sync_token=changed.sync_token, load_objects=True)
assert len(list(again)) == 1, list(again)

mine.delete()
late.delete()
last = calendar.objects_by_sync_token(sync_token=again.sync_token)
assert len(list(last)) == 2, list(last)
assert calendar.events() == [], calendar.events()
