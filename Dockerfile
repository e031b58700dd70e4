# Every image of the product: docker build --build-arg PACKAGE=millstream-broker -t millstream-broker .
# The all-in-one node and the command line: docker build --build-arg PACKAGE=millstream-cli -t millstream .
#                                           docker run -p 9092:9092 millstream
#
# BASE is any image with `python3` (3.11 or newer) and its venv module; without a registry, tests/e2e/images makes one from
# Debian's packages. Two optional build secrets carry a machine's own package index into the steps that need it and never
# into a layer: `index` (a file of `export UV_...=` lines) and `certificates` (the authorities it trusts).
ARG BASE=docker.io/library/python:3.14-slim

FROM ${BASE} AS uv
ENV UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy PATH=/opt/uv/bin:$PATH
WORKDIR /build
COPY requirements-uv.lock ./
RUN --mount=type=secret,id=index --mount=type=secret,id=certificates \
    if [ -e /run/secrets/index ]; then . /run/secrets/index; fi; \
    python3 -m venv /opt/uv && python -m pip install --quiet --no-cache-dir --require-hashes -r requirements-uv.lock

# A C compiler for the modules that gain most (compiled/README.md); it stays in this stage, and without it they are plain Python.
FROM uv AS compiler
COPY requirements-dev.lock ./
RUN --mount=type=secret,id=index --mount=type=secret,id=certificates --mount=type=cache,target=/root/.cache/uv \
    if [ -e /run/secrets/index ]; then . /run/secrets/index; fi; \
    { apt-get -q update && apt-get -q install -y --no-install-recommends gcc libc6-dev python3-dev; } \
      || echo "no C compiler can be installed"; \
    printf 'mypy\nsetuptools\n' > compiler.in \
    && uv pip compile --quiet --generate-hashes -c requirements-dev.lock compiler.in -o compiler.txt \
    && uv venv --quiet --python "$(command -v python3)" /opt/compiler \
    && uv pip install --quiet --python /opt/compiler/bin/python --require-hashes -r compiler.txt

# The workspace's wheels: the same for every image, so built once.
FROM compiler AS wheels
COPY pyproject.toml requirements.lock ./
COPY libs libs
COPY services services
COPY compiled compiled
# Minutes: before what has nothing to be compiled, so that a change there does not cost them.
RUN /opt/compiler/bin/python compiled/build.py
COPY operator operator
COPY cli cli
COPY simulation simulation
# workspace.txt names the wheels' files: no index is asked for a package of ours, whoever may have taken its name there.
RUN --mount=type=secret,id=index --mount=type=secret,id=certificates --mount=type=cache,target=/root/.cache/uv \
    if [ -e /run/secrets/index ]; then . /run/secrets/index; fi; \
    uv build --quiet --wheel --all-packages --out-dir wheels \
    && for wheel in wheels/*.whl; do \
         name=$(basename "$wheel"); echo "${name%%-*} @ file:///build/$wheel"; \
       done > workspace.txt

# What this package needs, of others and of ours: only that is installed, at the lock's versions and hashes.
FROM wheels AS needs
ARG PACKAGE
RUN --mount=type=secret,id=index --mount=type=secret,id=certificates --mount=type=cache,target=/root/.cache/uv \
    if [ -e /run/secrets/index ]; then . /run/secrets/index; fi; \
    test -n "$PACKAGE" && echo "$PACKAGE" > package.in && mkdir needs \
    && uv pip compile --quiet --no-header --no-annotate --generate-hashes -c requirements.lock -c workspace.txt package.in \
         | awk '/^millstream-/ {ours = 1} /^[a-z0-9]/ && !/^millstream-/ {ours = 0} {print > ("needs/" (ours ? "ours" : "others") ".txt")}'

# Others' packages change seldom: a layer of their own, made again only when the list does.
FROM uv AS others
COPY --from=needs /build/needs/others.txt ./
RUN --mount=type=secret,id=index --mount=type=secret,id=certificates --mount=type=cache,target=/root/.cache/uv \
    if [ -e /run/secrets/index ]; then . /run/secrets/index; fi; \
    uv venv --quiet --python "$(command -v python3)" /opt/python \
    && uv pip install --quiet --compile-bytecode --python /opt/python/bin/python --require-hashes -r others.txt \
    && echo /opt/millstream > "$(echo /opt/python/lib/python3.*/site-packages)/millstream.pth"

FROM needs AS ours
RUN uv pip install --quiet --offline --no-deps --compile-bytecode --python python3 --target /opt/millstream -r needs/ours.txt

FROM ${BASE}
ARG PACKAGE
# A user without a name confuses programs that ask for it; the directory is where a volume goes.
RUN echo 'millstream:x:10001:10001::/var/lib/millstream:/usr/sbin/nologin' >> /etc/passwd \
    && echo 'millstream:x:10001:' >> /etc/group \
    && install -d -o 10001 -g 10001 /var/lib/millstream \
    && if [ "$PACKAGE" = millstream-cli ]; then \
         module=millstream.main; \
         printf '#!/bin/sh\n[ $# -gt 0 ] || set -- node --host 0.0.0.0 --set advertised.listeners=PLAINTEXT://localhost:9092\n' \
           > /usr/local/bin/millstream-start; \
         ln -s millstream-start /usr/local/bin/millstream; \
       else \
         module=$(echo "$PACKAGE" | tr - _).main; \
         echo '#!/bin/sh' > /usr/local/bin/millstream-start; \
       fi \
    && echo "exec python -m $module \"\$@\"" >> /usr/local/bin/millstream-start \
    && chmod 0755 /usr/local/bin/millstream-start
COPY --from=others /opt/python /opt/python
COPY --from=ours /opt/millstream /opt/millstream
ENV PATH=/opt/python/bin:$PATH PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /var/lib/millstream
ENTRYPOINT ["/usr/local/bin/millstream-start"]
