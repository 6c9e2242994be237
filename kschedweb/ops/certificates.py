"""A certificate of the service's own, for places where nobody has another: made once, by the program openssl."""

import os
import shutil
import subprocess
from ipaddress import ip_address
from pathlib import Path

CERTIFICATE, KEY = "tls-cert.pem", "tls-key.pem"
DAYS = 3650


class CertificateProblem(Exception):
    """No certificate can be made; the text says what to do."""


def own(data: Path, host: str) -> tuple[Path, Path]:
    """Certificate and key in the data directory, made when absent; good for localhost and the address listened on."""
    certificate, key = data / CERTIFICATE, data / KEY
    if certificate.exists() and key.exists():
        return certificate, key
    program = shutil.which("openssl")
    if program is None:
        raise CertificateProblem(
            "--tls needs the program openssl to make a certificate;"
            " install it, or set KSCHED_TLS_CERT and KSCHED_TLS_KEY"
        )
    names = "DNS:localhost,IP:127.0.0.1,IP:::1" + _name_of(host)
    words = [program, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words += ["-keyout", str(key), "-out", str(certificate), "-days", str(DAYS), "-subj", "/CN=kschedweb"]
    words += ["-addext", f"subjectAltName={names}", "-addext", "basicConstraints=critical,CA:TRUE"]
    old = os.umask(0o077)
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    finally:
        os.umask(old)
    if done.returncode:
        raise CertificateProblem(f"openssl could not make a certificate: {done.stderr.strip()[-300:]}")
    return certificate, key


def _name_of(host: str) -> str:
    """A further name for the certificate; empty for addresses that are those of any interface."""
    try:
        address = ip_address(host)
    except ValueError:
        return f",DNS:{host}" if host != "localhost" else ""
    return "" if address.is_loopback or address.is_unspecified else f",IP:{host}"
