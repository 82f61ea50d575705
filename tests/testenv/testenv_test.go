package testenv

import (
	"context"
	"net/smtp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestPostgres_databasesAreSeparateAndEmpty(t *testing.T) {
	t.Parallel()
	for range 2 {
		c, err := pgx.Connect(t.Context(), Postgres(t))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Exec(t.Context(), "CREATE TABLE here (id int)"); err != nil {
			t.Error(err)
		}
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

func TestPostgresServer_keepsItsDataOverAKill(t *testing.T) {
	t.Parallel()
	s := PostgresServer(t, Durable)
	url := s.Database(t)
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(t.Context(), "CREATE TABLE here (id int)"); err != nil {
		t.Fatal(err)
	}
	s.Restart(t)
	if _, err := c.Exec(t.Context(), "SELECT 1"); err == nil {
		t.Error("the old connection survived the kill")
	}
	if c, err = pgx.Connect(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if _, err := c.Exec(t.Context(), "SELECT id FROM here"); err != nil {
		t.Error(err)
	}
}

func TestRedisServer_isEmptyAfterAKill(t *testing.T) {
	t.Parallel()
	s := RedisServer(t)
	s.Do(t, "SET", "a", "1")
	s.Restart(t)
	if n := s.Do(t, "DBSIZE"); n != "0" {
		t.Errorf("%s keys survived", n)
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	if n := len(Cluster(t)); n != 3 {
		t.Errorf("%d nodes, want 3", n)
	}
}

func TestClusterServer_hasReplicas(t *testing.T) {
	t.Parallel()
	c := ClusterServer(t, 1)
	replicated := func() (masters int) { // a replica connects after its node knows the others, and may have taken over
		for _, n := range c.Nodes {
			if info := n.Do(t, "INFO", "replication"); strings.Contains(info, "role:master") && strings.Contains(info, "connected_slaves:1") {
				masters++
			}
		}
		return masters
	}
	for deadline := time.Now().Add(startTimeout); replicated() != 3; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of 3 masters have a replica", replicated())
		}
	}
}

func TestMail_scriptedAnswers(t *testing.T) {
	t.Parallel()
	s := Mail(t)
	s.Script(Answer{Code: 451}, Answer{Code: 550}, Answer{Drop: true})
	send := func() error {
		return smtp.SendMail(s.Addr(), nil, "a@example.org", []string{"b@example.org"},
			[]byte("Message-ID: <1@test>\r\nSubject: =?utf-8?q?gr=C3=BCn?=\r\n\r\nbody"))
	}
	for _, want := range []string{"451", "550", "EOF"} {
		if err := send(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("err %v, want %s", err, want)
		}
	}
	if err := send(); err != nil {
		t.Fatal(err)
	}
	m := s.Next(t, startTimeout)
	if m.Subject() != "grün" || strings.TrimSpace(m.Part("text/plain")) != "body" || m.To[0] != "b@example.org" {
		t.Errorf("got %+v", m)
	}
	if n := s.Counts()["<1@test>"]; n != 2 || s.Tried() != 4 {
		t.Errorf("accepted %d of %d, want 2 of 4: the dropped one counts", n, s.Tried())
	}
}

func TestMail_signInOverTLS(t *testing.T) {
	t.Parallel()
	s := MailWith(t, MailConfig{TLS: "starttls", Username: "u", Password: "p"})
	if err := smtp.SendMail(s.Addr(), nil, "a@example.org", []string{"b@example.org"}, nil); err == nil {
		t.Error("an unknown authority was trusted")
	}
	if len(s.Messages()) != 0 {
		t.Error("a mail arrived")
	}
}

// TestGuard kills a test binary that runs servers and wants nothing of them left.
func TestGuard(t *testing.T) {
	if os.Getenv("TESTENV_VICTIM") != "" {
		Postgres(t)
		RedisServer(t)
		dir, err := baseDir()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(os.Getenv("TESTENV_VICTIM"), []byte(dir), 0o644); err != nil {
			t.Fatal(err)
		}
		select {}
	}
	t.Parallel()
	note := filepath.Join(t.TempDir(), "dir")
	victim := exec.Command(os.Args[0], "-test.run=^TestGuard$")
	victim.Env = append(os.Environ(), "TESTENV_VICTIM="+note)
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	var dir string
	for deadline := time.Now().Add(startTimeout); dir == "" && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		b, _ := os.ReadFile(note)
		dir = string(b)
	}
	victim.Process.Kill()
	victim.Wait()
	if dir == "" {
		t.Fatal("the servers did not start")
	}
	pids, _ := filepath.Glob(dir + "/*/pid")
	deadline := time.Now().Add(startTimeout)
	for ; time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(dir); os.IsNotExist(err) {
			return
		}
	}
	t.Errorf("%s and processes %v are still there", dir, pids)
}
