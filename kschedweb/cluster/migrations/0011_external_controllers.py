from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cluster", "0010_description"),
    ]

    operations = [
        migrations.AddField(
            model_name="cluster",
            name="external_controllers",
            field=models.JSONField(default=list),
        ),
        migrations.AddField(
            model_name="cluster",
            name="controllers_rv",
            field=models.BigIntegerField(default=0),
        ),
        # What was deleted before there was a garbage collector is not answered now.
        migrations.RunSQL("UPDATE cluster_cluster SET controllers_rv = rv", migrations.RunSQL.noop),
    ]
